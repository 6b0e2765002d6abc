// Makes the calls of MIOpen's plug-in of 2026 that miopen_calls.cpp does not make: weight gradients in 3D, scaled and
// added to what the weight holds, and data gradients, with a split_k in 2D and without one in 3D. It asks operators
// with null tensors, the D tensor included. Weight gradients alone get a workspace, of the size that an operator
// reported for null tensors. Lists of operators by tf32 may be empty, but they compile.
#include "problem.hpp"

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data_bilinear.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data_scale.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_bilinear.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_scale.hpp"

namespace ck::own {

using tensor_operation::device::DeviceGroupedConvBwdDataMultipleD;
using tensor_operation::device::DeviceGroupedConvBwdWeightMultipleD;
using tensor_operation::element_wise::Bilinear;
using tensor_operation::element_wise::Scale;

template <class Op>
using Operators = tensor_operation::device::instance::DeviceOperationInstanceFactory<Op>;
template <class T, class Function, class Ds, class DTypes, class Compute = T>
using Weight = DeviceGroupedConvBwdWeightMultipleD<3, NDHWGC, GKZYXC, NDHWGK, Ds, T, T, T, DTypes, PassThrough,
                                                   Function, PassThrough, Compute>;
template <class T, class Function, class Ds, class DTypes, class Compute = T>
using Data = DeviceGroupedConvBwdDataMultipleD<3, NDHWGK, GKZYXC, Ds, NDHWGC, T, T, DTypes, T, PassThrough, PassThrough,
                                               Function, Compute>;
template <class T, class Compute = T>
using Flat = DeviceGroupedConvBwdDataMultipleD<2, NHWGK, GKYXC, Tuple<>, NHWGC, T, T, Tuple<>, T, PassThrough,
                                               PassThrough, PassThrough, Compute>;

inline const utils::conv::ConvParam& deep() {
    static const utils::conv::ConvParam param(3, 2, 1, 5, 6, {2, 1, 3}, {4, 3, 7}, {1, 2, 2}, {2, 1, 1}, {1, 0, 2},
                                              {0, 1, 1});
    return param;
}

// The three tensors of a problem in packed layouts, and the sizes that operators take.
template <std::size_t NDim, class In, class Wei, class Out>
struct Tensors {
    using T = half_t;
    const utils::conv::ConvParam& p;
    Tensor<T> in = integers<T>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<In>(p));
    Tensor<T> wei = integers<T>(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<Wei>(p));
    Tensor<T> out = integers<T>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<Out>(p));
    const Sizes<index_t, NDim> i{in.mDesc}, w{wei.mDesc}, o{out.mDesc};
    const std::array<index_t, NDim> strides = array_of<index_t, NDim>(p.conv_filter_strides_),
                                    dilations = array_of<index_t, NDim>(p.conv_filter_dilations_),
                                    left = array_of<index_t, NDim>(p.input_left_pads_),
                                    right = array_of<index_t, NDim>(p.input_right_pads_);

    template <class Function, class... Ds>
    Tensor<T> expected_weight(Function function, const Ds&... d) const {
        Tensor<T> sums = wei;
        tensor_operation::host::ReferenceConvBwdWeight<NDim, T, T, T, PassThrough, Function, PassThrough, 0, 0,
                                                       sizeof...(Ds)>
            reference;
        reference.MakeInvoker().Run(reference.MakeArgument(
            in, sums, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_, p.input_right_pads_,
            PassThrough{}, function, PassThrough{}, {}, {}, std::array<Tensor<T>, sizeof...(Ds)>{d...}));
        return sums;
    }
    template <class Function, class... Ds>
    Tensor<T> expected_data(Function function, const Ds&... d) const {
        Tensor<T> sums = in;
        tensor_operation::host::ReferenceConvBwdData<NDim, T, T, T, Function, PassThrough, PassThrough, 0, 0,
                                                     sizeof...(Ds)>
            reference;
        auto argument = reference.MakeArgument(sums, wei, out, p.conv_filter_strides_, p.conv_filter_dilations_,
                                               p.input_left_pads_, p.input_right_pads_, function, PassThrough{},
                                               PassThrough{}, {}, {}, std::array<Tensor<T>, sizeof...(Ds)>{d...});
        reference.MakeInvoker().Run(argument);
        return sums;
    }
};
using Flats = Tensors<2, NHWGC, GKYXC, NHWGK>;
using Deeps = Tensors<3, NDHWGC, GKZYXC, NDHWGK>;

template <class Pointer, class Function>
auto weight_argument(const Pointer& op, const Deeps& t, const void* x, void* dw, const void* dy, Function function,
                     int split_k) {
    if constexpr(std::is_same_v<Function, Bilinear>)
        return op->MakeArgumentPointer(x, dw, dy, {dw}, t.i.lengths, t.i.strides, t.w.lengths, t.w.strides, t.o.lengths,
                                       t.o.strides, {t.w.lengths}, {t.w.strides}, t.strides, t.dilations, t.left,
                                       t.right, PassThrough{}, function, PassThrough{}, split_k);
    else
        return op->MakeArgumentPointer(x, dw, dy, {}, t.i.lengths, t.i.strides, t.w.lengths, t.w.strides, t.o.lengths,
                                       t.o.strides, {}, {}, t.strides, t.dilations, t.left, t.right, PassThrough{},
                                       function, PassThrough{}, split_k);
}

template <class Pointer, class Function>
auto data_argument(const Pointer& op, const Deeps& t, void* dx, const void* w, const void* dy, Function function) {
    if constexpr(std::is_same_v<Function, Bilinear>)
        return op->MakeArgumentPointer(dy, w, {dx}, dx, t.o.lengths, t.o.strides, t.w.lengths, t.w.strides,
                                       {t.i.lengths}, {t.i.strides}, t.i.lengths, t.i.strides, t.strides, t.dilations,
                                       t.left, t.right, PassThrough{}, PassThrough{}, function);
    else
        return op->MakeArgumentPointer(dy, w, {}, dx, t.o.lengths, t.o.strides, t.w.lengths, t.w.strides, {}, {},
                                       t.i.lengths, t.i.strides, t.strides, t.dilations, t.left, t.right, PassThrough{},
                                       PassThrough{}, function);
}

template <class Pointer>
auto flat_argument(const Pointer& op, const Flats& t, void* dx, const void* w, const void* dy, int split_k) {
    return op->MakeArgumentPointer(dy, w, {}, dx, t.o.lengths, t.o.strides, t.w.lengths, t.w.strides, {}, {},
                                   t.i.lengths, t.i.strides, t.strides, t.dilations, t.left, t.right, {}, {}, {},
                                   split_k);
}

// True if an operator takes an argument with null tensors, given a workspace of no meaning if it wants one.
template <class Pointer, class Argument>
bool supported(const Pointer& op, const Argument& argument) {
    auto size = op->GetWorkSpaceSize(argument.get());
    if(size != 0)
        op->SetWorkSpacePointer(argument.get(), &size);
    return op->IsSupportedArgument(argument.get());
}

// Counts runs that are right, and those that left partial sums in the workspace. A result other than that of Bilinear
// starts as bytes of NaN.
struct Counts {
    int runs = 0, right = 0, split = 0;

    template <class Pointer, class Argument>
    void run(const Pointer& op, const Argument& argument, const DeviceMem& result, const Tensor<half_t>& expected) {
        op->MakeInvokerPointer()->Run(argument.get(), {nullptr, false});
        Tensor<half_t> got = expected;
        result.FromDevice(got.data());
        ++runs;
        right += utils::check_err(got, expected);
    }
};

template <class Function>
void poison_unless_added(const DeviceMem& result, const Function&) {
    if(!std::is_same_v<Function, Bilinear>)
        result.SetValue<unsigned char>(0xff);
}

template <class Op, class Function>
Counts weights(const Deeps& t, Function function, const Tensor<half_t>& expected) {
    Counts counts;
    const OnDevice<half_t> x(t.in), dy(t.out);
    for(const int split_k : {1, 2, 5, -1})
        for(auto& unique : Operators<Op>::GetInstances()) {
            const std::shared_ptr op{std::move(unique)};
            const auto asked = weight_argument(op, t, nullptr, nullptr, nullptr, function, split_k);
            if(!supported(op, asked))
                continue;
            const std::size_t size = op->GetWorkSpaceSize(asked.get());
            std::vector<unsigned char> before(size, 0xff), after(size);
            const DeviceMem workspace(size);
            workspace.ToDevice(before.data());
            const OnDevice<half_t> dw(t.wei);
            poison_unless_added(dw, function);
            const auto made = weight_argument(op, t, x.GetDeviceBuffer(), dw.GetDeviceBuffer(), dy.GetDeviceBuffer(),
                                              function, split_k);
            if(size > 0)
                op->SetWorkSpacePointer(made.get(), workspace.GetDeviceBuffer());
            counts.run(op, made, dw, expected);
            workspace.FromDevice(after.data());
            counts.split += after != before;
        }
    return counts;
}

template <class Op, class Function>
Counts data(const Deeps& t, Function function, const Tensor<half_t>& expected) {
    Counts counts;
    const OnDevice<half_t> w(t.wei), dy(t.out);
    for(auto& op : Operators<Op>::GetInstances()) {
        if(!op->IsSupportedArgument(data_argument(op, t, nullptr, nullptr, nullptr, function).get()))
            continue;
        const OnDevice<half_t> dx(t.in);
        poison_unless_added(dx, function);
        counts.run(op, data_argument(op, t, dx.GetDeviceBuffer(), w.GetDeviceBuffer(), dy.GetDeviceBuffer(), function),
                   dx, expected);
    }
    return counts;
}

// MIOpen keeps a split_k for data gradients in 2D and gives no workspace.
Counts flat_data(const Flats& t) {
    Counts counts;
    const Tensor<half_t> expected = t.expected_data(PassThrough{});
    const OnDevice<half_t> w(t.wei), dy(t.out);
    for(const int split_k : {1, 2, 5, -1})
        for(auto& op : Operators<Flat<half_t>>::GetInstances()) {
            if(!supported(op, flat_argument(op, t, nullptr, nullptr, nullptr, split_k)))
                continue;
            const OnDevice<half_t> dx(t.in);
            dx.SetValue<unsigned char>(0xff);
            counts.run(op,
                       flat_argument(op, t, dx.GetDeviceBuffer(), w.GetDeviceBuffer(), dy.GetDeviceBuffer(), split_k),
                       dx, expected);
        }
    return counts;
}

bool print(const char* name, const Counts& counts) {
    std::cout << name << ' ' << counts.right << " of " << counts.runs << ", " << counts.split << " split" << std::endl;
    return counts.runs > 0 && counts.right == counts.runs;
}

}  // namespace ck::own

int main() {
    using namespace ck::own;
    using ck::half_t;
    using ck::Tuple;
    const Bilinear bilinear{2.f, 3.f};
    const Scale scale{2.f};
    const Deeps t{deep()};
    const bool scaled =
        print("weight scale", weights<Weight<half_t, Scale, Tuple<>, Tuple<>>>(t, scale, t.expected_weight(scale)));
    const bool added = print("weight bilinear", weights<Weight<half_t, Bilinear, Tuple<GKZYXC>, Tuple<half_t>>>(
                                                    t, bilinear, t.expected_weight(bilinear, t.wei)));
    const bool plain = print(
        "data", data<Data<half_t, PassThrough, Tuple<>, Tuple<>>>(t, PassThrough{}, t.expected_data(PassThrough{})));
    const bool scaled_data =
        print("data scale", data<Data<half_t, Scale, Tuple<>, Tuple<>>>(t, scale, t.expected_data(scale)));
    const bool added_data =
        print("data bilinear",
              data<Data<half_t, Bilinear, Tuple<NDHWGC>, Tuple<half_t>>>(t, bilinear, t.expected_data(bilinear, t.in)));
    const bool flat = print("data in 2D", flat_data(Flats{problem()}));
    std::cout << "by tf32 " << Operators<Flat<float, ck::tf32_t>>::GetInstances().size()
              << Operators<Weight<float, Scale, Tuple<>, Tuple<>, ck::tf32_t>>::GetInstances().size()
              << Operators<Data<float, Bilinear, Tuple<NDHWGC>, Tuple<float>, ck::tf32_t>>::GetInstances().size()
              << std::endl;
    return scaled && added && plain && scaled_data && added_data && flat ? EXIT_SUCCESS : EXIT_FAILURE;
}
