// Calls backward weight as MIOpen does. Its solver of October 2024 asks every operator with null tensors and a
// workspace of one integer, keeps type strings with a split_k, finds the operator again by its string, makes the
// argument with braces for the element-wise functions, and sets a workspace whose size it never asked for. Its plug-in
// of 2026 asks an operator for the size of an argument with null tensors, and sets a workspace of that size for another
// argument of that operator.
#include <algorithm>

#include "problem.hpp"

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"

namespace ck::own {

template <class T>
using Weight = tensor_operation::device::DeviceGroupedConvBwdWeight<2, NHWGC, GKYXC, NHWGK, T, T, T, PassThrough,
                                                                    PassThrough, PassThrough>;
template <class T>
using Weights = tensor_operation::device::instance::DeviceOperationInstanceFactory<Weight<T>>;

template <class T>
struct Call {
    const utils::conv::ConvParam& p = problem();
    Tensor<T> in = integers<T>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<NHWGC>(p));
    Tensor<T> out = integers<T>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<NHWGK>(p));
    Tensor<T> wei{utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<GKYXC>(p)};
    const Sizes<index_t> i{in.mDesc}, w{wei.mDesc}, o{out.mDesc};
    const std::array<index_t, 2> strides = array_of<index_t, 2>(p.conv_filter_strides_),
                                 dilations = array_of<index_t, 2>(p.conv_filter_dilations_),
                                 left = array_of<index_t, 2>(p.input_left_pads_),
                                 right = array_of<index_t, 2>(p.input_right_pads_);

    template <class Pointer>
    auto argument(const Pointer& op, const void* x, void* dw, const void* dy, int split_k) const {
        return op->MakeArgumentPointer(x, dw, dy, i.lengths, i.strides, w.lengths, w.strides, o.lengths, o.strides,
                                       strides, dilations, left, right, {}, {}, {}, split_k);
    }
    template <class Pointer>
    bool supported(const Pointer& op, int split_k) const {
        const auto made = argument(op, nullptr, nullptr, nullptr, split_k);
        int unused = 1;
        op->SetWorkSpacePointer(made.get(), &unused);
        return op->IsSupportedArgument(made.get());
    }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        const auto list = Weights<T>::GetInstances();
        for(std::size_t at = 0; at < list.size(); ++at)
            for(const int split_k : {1, 4})
                if(supported(list[at], split_k))
                    found.emplace_back(list[at]->GetTypeString() + "+" + std::to_string(split_k));
        return found;
    }

    bool runs(const std::string& name) {
        auto list = Weights<T>::GetInstances();
        const auto mark = name.find_last_of('+');
        const auto found = std::find_if(list.begin(), list.end(),
                                        [&](const auto& one) { return one->GetTypeString() == name.substr(0, mark); });
        if(found == list.end())
            return false;
        const OnDevice<T> x(in), dy(out), dw(wei);
        DeviceMem small(16);  // less than the partial sums
        const std::shared_ptr op{std::move(*found)};
        const auto made = argument(op, x.GetDeviceBuffer(), dw.GetDeviceBuffer(), dy.GetDeviceBuffer(),
                                   std::stoi(name.substr(mark + 1)));
        op->SetWorkSpacePointer(made.get(), small.GetDeviceBuffer());
        op->MakeInvokerPointer()->Run(made.get(), {nullptr, false});
        dw.FromDevice(wei.data());
        return utils::check_err(wei, expected());
    }
    // Runs split_k with a workspace of the size that an operator reported for an argument with null tensors, after
    // which it may have reported another. Sets `written`: whether the run left partial sums in the workspace.
    bool runs_planned(const std::string& name, int split_k, int last_asked, bool& written) {
        auto list = Weights<T>::GetInstances();
        const auto found =
            std::find_if(list.begin(), list.end(), [&](const auto& one) { return one->GetTypeString() == name; });
        if(found == list.end())
            return false;
        const std::shared_ptr op{std::move(*found)};
        const std::size_t size = op->GetWorkSpaceSize(argument(op, nullptr, nullptr, nullptr, split_k).get());
        op->GetWorkSpaceSize(argument(op, nullptr, nullptr, nullptr, last_asked).get());
        const OnDevice<T> x(in), dy(out), dw(wei);
        std::vector<unsigned char> before(size, 0xff), after(size);
        const DeviceMem workspace(size);
        workspace.ToDevice(before.data());
        const auto made = argument(op, x.GetDeviceBuffer(), dw.GetDeviceBuffer(), dy.GetDeviceBuffer(), split_k);
        op->SetWorkSpacePointer(made.get(), workspace.GetDeviceBuffer());
        op->MakeInvokerPointer()->Run(made.get(), {nullptr, false});
        dw.FromDevice(wei.data());
        workspace.FromDevice(after.data());
        written = after != before;
        return utils::check_err(wei, expected());
    }
    Tensor<T> expected() {
        Tensor<T> sums = wei;
        tensor_operation::host::ReferenceConvBwdWeight<2, T, T, T, PassThrough, PassThrough, PassThrough> reference;
        reference.MakeInvoker().Run(
            reference.MakeArgument(in, sums, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_,
                                   p.input_right_pads_, PassThrough{}, PassThrough{}, PassThrough{}));
        return sums;
    }
};

}  // namespace ck::own

int main() {
    ck::own::Call<ck::half_t> half;
    const std::vector<std::string> names = half.names();
    const auto right = std::count_if(names.begin(), names.end(), [&](const auto& name) { return half.runs(name); });
    const ck::own::Weights<int8_t> integers;
    const ck::own::Weights<ck::bhalf_t> brain;
    bool known = false, unknown = true;
    const std::string type = names.empty() ? "" : names.front().substr(0, names.front().find_last_of('+'));
    const bool planned = half.runs_planned(type, 4, 4, known) && half.runs_planned(type, 4, 2, unknown);
    std::cout << names.size() << " names, " << right << " right; int8 " << integers.GetInstances().size() << ", bhalf "
              << brain.GetInstances().size() << "\nplanned " << planned << ", workspace of known size " << known
              << ", of unknown size " << unknown << std::endl;
    return !names.empty() && right == static_cast<long>(names.size()) && planned ? EXIT_SUCCESS : EXIT_FAILURE;
}
