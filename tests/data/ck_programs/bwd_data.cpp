// Runs the backward-data operators: without D tensors, with one, and the dense ones, and compares the results with the
// reference. Argument lists have braces as in CK's own programs.
#include "problem.hpp"

#include <limits>

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/convolution_backward_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data_bilinear.hpp"

namespace ck::own {

using Bilinear = tensor_operation::element_wise::Bilinear;
template <class Ds, class DTypes, class Function>
using Grouped =
    tensor_operation::device::DeviceGroupedConvBwdDataMultipleD<2, NHWGK, GKYXC, Ds, NHWGC, half_t, half_t, DTypes,
                                                                half_t, PassThrough, PassThrough, Function>;
using Plain = Grouped<Tuple<>, Tuple<>, PassThrough>;
using Fused = Grouped<Tuple<NHWGC>, Tuple<half_t>, Bilinear>;
using Dense = tensor_operation::device::DeviceConvBwdData<2, NHWC, KYXC, NHWK, half_t, half_t, half_t, PassThrough,
                                                          PassThrough, PassThrough>;

template <class Op>
auto operators() {
    return tensor_operation::device::instance::DeviceOperationInstanceFactory<Op>::GetInstances();
}

template <class In, class Wei, class Out>
struct Tensors {
    const utils::conv::ConvParam p;
    Tensor<half_t> out = integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<Out>(p));
    Tensor<half_t> wei = integers<half_t>(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<Wei>(p));
    Tensor<half_t> d = integers<half_t>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<In>(p));
    Tensor<half_t> in = d, expected = d;
    OnDevice<half_t> out_memory{out}, wei_memory{wei}, d_memory{d}, in_memory{in};

    template <class Function, std::size_t NumD>
    void compute_expected(Function function, const std::array<Tensor<half_t>, NumD>& ds) {
        expected.SetZero();
        tensor_operation::host::ReferenceConvBwdData<2, half_t, half_t, half_t, Function, PassThrough, PassThrough, 0,
                                                     0, NumD>
            reference;
        auto argument = reference.MakeArgument(expected, wei, out, p.conv_filter_strides_, p.conv_filter_dilations_,
                                               p.input_left_pads_, p.input_right_pads_, function, PassThrough{},
                                               PassThrough{}, {}, {}, ds);
        reference.MakeInvoker().Run(argument);
    }

    template <class Op, class Argument>
    bool runs(Op& op, Argument& argument) {
        if(!op.IsSupportedArgument(argument.get()))
            return false;
        for(const int repeats : {0, -1}) {  // timed once all the same
            const float time = op.MakeInvokerPointer()->Run(argument.get(), StreamConfig{nullptr, true, 0, 0, repeats});
            if(!(time >= 0.f && time < std::numeric_limits<float>::infinity()))
                return false;
        }
        in_memory.FromDevice(in.data());
        return utils::check_err(in, expected, "backward data");
    }
};

using GroupedTensors = Tensors<NHWGC, GKYXC, NHWGK>;

template <class Op, class Function, class... Ds>
bool grouped(GroupedTensors& t, Function function, const Ds&... ds) {
    const Sizes<index_t> in(t.in.mDesc), wei(t.wei.mDesc), out(t.out.mDesc);
    const auto spatial = [](const auto& values) { return array_of<index_t, 2>(values); };
    const auto ops = operators<Op>();
    bool good = !ops.empty();
    for(auto& op : ops) {
        std::unique_ptr<tensor_operation::device::BaseArgument> argument;
        if constexpr(sizeof...(Ds) == 0)
            argument = op->MakeArgumentPointer(
                t.out_memory.GetDeviceBuffer(), t.wei_memory.GetDeviceBuffer(), {}, t.in_memory.GetDeviceBuffer(),
                out.lengths, out.strides, wei.lengths, wei.strides, {}, {}, in.lengths, in.strides,
                spatial(t.p.conv_filter_strides_), spatial(t.p.conv_filter_dilations_), spatial(t.p.input_left_pads_),
                spatial(t.p.input_right_pads_), PassThrough{}, PassThrough{}, function);
        else
            argument = op->MakeArgumentPointer(t.out_memory.GetDeviceBuffer(), t.wei_memory.GetDeviceBuffer(),
                                               {ds.GetDeviceBuffer()...}, t.in_memory.GetDeviceBuffer(), out.lengths,
                                               out.strides, wei.lengths, wei.strides, {in.lengths}, {in.strides},
                                               in.lengths, in.strides, spatial(t.p.conv_filter_strides_),
                                               spatial(t.p.conv_filter_dilations_), spatial(t.p.input_left_pads_),
                                               spatial(t.p.input_right_pads_), PassThrough{}, PassThrough{}, function);
        good = t.runs(*op, argument) && good;
    }
    return good;
}

bool dense(Tensors<NHWC, KYXC, NHWK>& t) {
    const auto list = [](const auto& values) { return std::vector<index_t>(values.begin(), values.end()); };
    const auto ops = operators<Dense>();
    bool good = !ops.empty();
    for(auto& op : ops) {
        const auto argument = op->MakeArgumentPointer(
            t.in_memory.GetDeviceBuffer(), t.wei_memory.GetDeviceBuffer(), t.out_memory.GetDeviceBuffer(),
            static_cast<index_t>(t.p.N_), static_cast<index_t>(t.p.K_), static_cast<index_t>(t.p.C_),
            list(t.p.input_spatial_lengths_), list(t.p.filter_spatial_lengths_), list(t.p.output_spatial_lengths_),
            list(t.p.conv_filter_strides_), list(t.p.conv_filter_dilations_), list(t.p.input_left_pads_),
            list(t.p.input_right_pads_), PassThrough{}, PassThrough{}, PassThrough{});
        good = t.runs(*op, argument) && good;
    }
    return good;
}

}  // namespace ck::own

int main() {
    using namespace ck::own;
    GroupedTensors t{problem()};
    t.compute_expected(PassThrough{}, std::array<Tensor<ck::half_t>, 0>{});
    const bool plain = grouped<Plain>(t, PassThrough{});
    t.compute_expected(Bilinear{2.f, 3.f}, std::array<Tensor<ck::half_t>, 1>{t.d});
    const bool fused = grouped<Fused>(t, Bilinear{2.f, 3.f}, t.d_memory);

    Tensors<NHWC, KYXC, NHWK> one_group{{2, 1, 3, 8, 16, {3, 2}, {7, 6}, {2, 1}, {1, 2}, {1, 1}, {1, 0}}};
    one_group.compute_expected(PassThrough{}, std::array<Tensor<ck::half_t>, 0>{});
    const bool of_one_group = dense(one_group);
    std::cout << "plain " << plain << ", fused " << fused << ", dense " << of_one_group << std::endl;
    return plain && fused && of_one_group ? EXIT_SUCCESS : EXIT_FAILURE;
}
