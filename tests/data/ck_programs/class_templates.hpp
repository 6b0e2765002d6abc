// Runs operators of CK's class templates, whose kernels the program compiles, and compares with the references.
#pragma once

#include "problem.hpp"

#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/tensor_operation/gpu/device/convolution_backward_data_specialization.hpp"
#include "ck/tensor_operation/gpu/device/convolution_backward_weight_specialization.hpp"
#include "ck/utility/sequence.hpp"

namespace ck::own {

template <index_t... Is>
using S = Sequence<Is...>;
using WeightSpec = tensor_operation::device::ConvolutionBackwardWeightSpecialization;
using DataSpec = tensor_operation::device::ConvolutionBackwardDataSpecialization;

template <std::size_t N>
std::array<index_t, N> spatial(const std::vector<long_index_t>& values) {
    return array_of<index_t, N>(values);
}
inline std::vector<index_t> list(const std::vector<long_index_t>& values) { return {values.begin(), values.end()}; }

// The layouts of the three tensors.
template <index_t NDim, class InLayout, class WeiLayout, class OutLayout>
struct Layouts {
    static constexpr index_t ndim = NDim;
    using In = InLayout;
    using Wei = WeiLayout;
    using Out = OutLayout;
};

// Runs a class of backward weight.
template <class Operator, class Order>
bool weight(const utils::conv::ConvParam& p, index_t split_k) {
    constexpr index_t n = Order::ndim;
    const auto in =
        integers<half_t>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<typename Order::In>(p));
    const auto out =
        integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<typename Order::Out>(p));
    Tensor<half_t> wei(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<typename Order::Wei>(p)),
        expected = wei;
    const OnDevice<half_t> in_memory(in), out_memory(out), wei_memory(wei);
    tensor_operation::host::ReferenceConvBwdWeight<n, half_t, half_t, half_t, PassThrough, PassThrough, PassThrough>
        reference;
    reference.MakeInvoker().Run(
        reference.MakeArgument(in, expected, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_,
                               p.input_right_pads_, PassThrough{}, PassThrough{}, PassThrough{}));

    const Sizes<index_t, n> i(in.mDesc), w(wei.mDesc), o(out.mDesc);
    auto conv = Operator{};
    auto argument = conv.MakeArgument(
        in_memory.GetDeviceBuffer(), wei_memory.GetDeviceBuffer(), out_memory.GetDeviceBuffer(), i.lengths, i.strides,
        w.lengths, w.strides, o.lengths, o.strides, spatial<n>(p.conv_filter_strides_),
        spatial<n>(p.conv_filter_dilations_), spatial<n>(p.input_left_pads_), spatial<n>(p.input_right_pads_),
        PassThrough{}, PassThrough{}, PassThrough{}, split_k);
    DeviceMem workspace(conv.GetWorkSpaceSize(&argument));
    conv.SetWorkSpacePointer(&argument, workspace.GetDeviceBuffer());
    if((workspace.GetBufferSize() > 0) != (split_k > 1) || !conv.IsSupportedArgument(argument))
        return false;
    conv.MakeInvoker().Run(argument, StreamConfig{nullptr, false});
    wei_memory.FromDevice(wei.data());
    std::cout << conv.GetTypeString() << std::endl;
    return utils::check_err(wei, expected, "weight");
}

template <class InLayout, class WeiLayout, class OutLayout, class Run>
bool data(const utils::conv::ConvParam& p, const char* name, const Run& run) {
    const auto out = integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<OutLayout>(p));
    const auto wei = integers<half_t>(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<WeiLayout>(p));
    Tensor<half_t> in(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<InLayout>(p)), expected = in;
    const OnDevice<half_t> in_memory(in), out_memory(out), wei_memory(wei);
    tensor_operation::host::ReferenceConvBwdData<2, half_t, half_t, half_t, PassThrough, PassThrough, PassThrough>
        reference;
    reference.MakeInvoker().Run(
        reference.MakeArgument(expected, wei, out, p.conv_filter_strides_, p.conv_filter_dilations_, p.input_left_pads_,
                               p.input_right_pads_, PassThrough{}, PassThrough{}, PassThrough{}));
    if(!run(in_memory, wei_memory, out_memory, Sizes<index_t, 2>(in.mDesc), Sizes<index_t, 2>(wei.mDesc),
            Sizes<index_t, 2>(out.mDesc)))
        return false;
    in_memory.FromDevice(in.data());
    return utils::check_err(in, expected, name);
}

// Runs a class of grouped backward data without D tensors.
template <class Operator, class Function = PassThrough>
bool grouped(const utils::conv::ConvParam& p) {
    return data<NHWGC, GKYXC, NHWGK>(
        p, "grouped", [&](auto& in, auto& wei, auto& out, const auto& i, const auto& w, const auto& o) {
            auto conv = Operator{};
            auto argument = conv.MakeArgument(out.GetDeviceBuffer(), wei.GetDeviceBuffer(), {}, in.GetDeviceBuffer(),
                                              o.lengths, o.strides, w.lengths, w.strides, {}, {}, i.lengths, i.strides,
                                              spatial<2>(p.conv_filter_strides_), spatial<2>(p.conv_filter_dilations_),
                                              spatial<2>(p.input_left_pads_), spatial<2>(p.input_right_pads_),
                                              PassThrough{}, PassThrough{}, Function{});
            if(!conv.IsSupportedArgument(argument))
                return false;
            conv.MakeInvoker().Run(argument);
            return true;
        });
}

// Runs a class of dense backward data.
template <class Operator>
bool dense(const utils::conv::ConvParam& p) {
    return data<NHWC, KYXC, NHWK>(
        p, "dense", [&](auto& in, auto& wei, auto& out, const auto&, const auto&, const auto&) {
            auto conv = Operator{};
            const auto argument = conv.MakeArgumentPointer(
                in.GetDeviceBuffer(), wei.GetDeviceBuffer(), out.GetDeviceBuffer(), static_cast<index_t>(p.N_),
                static_cast<index_t>(p.K_), static_cast<index_t>(p.C_), list(p.input_spatial_lengths_),
                list(p.filter_spatial_lengths_), list(p.output_spatial_lengths_), list(p.conv_filter_strides_),
                list(p.conv_filter_dilations_), list(p.input_left_pads_), list(p.input_right_pads_), PassThrough{},
                PassThrough{}, PassThrough{});
            if(!conv.IsSupportedArgument(argument.get()))
                return false;
            conv.MakeInvokerPointer()->Run(argument.get());
            return true;
        });
}

}  // namespace ck::own
