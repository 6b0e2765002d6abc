// Copied by ckgen from templates/include/ckgen/op/device_grouped_conv_bwd_weight_multiple_d.hpp. Do not edit; run: ckgen generate
// The operator interface of grouped convolution backward weight with D tensors, with CK's template parameters.
#pragma once

#include <array>
#include <memory>

#include "ckgen/config/layout.hpp"
#include "ckgen/op/device_base.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::tensor_operation::device {

// dWei = f(sum over images and output positions of dOut * In, D0, D1, ...), for each group. Lengths and strides are
// those of DeviceGroupedConvBwdWeight; those of D tensors have the weight's order G, K, C, filter. D tensors of layouts
// GC and G_C have stride 0 except for G and C. A D tensor may have length 1 where it is broadcast, except along C. The
// weight may be one of the D tensors.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class DsDataType, class InElementwiseOperation,
          class WeiElementwiseOperation, class OutElementwiseOperation, class ComputeTypeA = InDataType,
          class ComputeTypeB = ComputeTypeA>
struct DeviceGroupedConvBwdWeightMultipleD : BaseOperator {
    static constexpr index_t NumDTensor = DsLayout::Size();
    static_assert(NumDTensor == DsDataType::Size(), "a layout and a type for each D tensor");
    using Lengths = std::array<index_t, NDimSpatial + 3>;
    using Spatial = std::array<index_t, NDimSpatial>;
    using LongLengths = std::array<long_index_t, NDimSpatial + 3>;
    using LongSpatial = std::array<long_index_t, NDimSpatial>;

    // split_k: number of workgroups that share GEMM-K, each with an f32 partial in the workspace; with -1 the operator
    // chooses. The function is applied to the sum of all partials.
    virtual std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_in, void* p_wei, const void* p_out, const std::array<const void*, NumDTensor>& p_ds,
        const LongLengths& in_lengths, const LongLengths& in_strides, const LongLengths& wei_lengths,
        const LongLengths& wei_strides, const LongLengths& out_lengths, const LongLengths& out_strides,
        const std::array<LongLengths, NumDTensor>& ds_lengths, const std::array<LongLengths, NumDTensor>& ds_strides,
        const LongSpatial& conv_filter_strides, const LongSpatial& conv_filter_dilations,
        const LongSpatial& input_left_pads, const LongSpatial& input_right_pads, InElementwiseOperation in_op,
        WeiElementwiseOperation wei_op, OutElementwiseOperation out_op, index_t split_k) = 0;

    // The same with sizes of 32 bits.
    virtual std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_in, void* p_wei, const void* p_out, const std::array<const void*, NumDTensor>& p_ds,
        const Lengths& in_lengths, const Lengths& in_strides, const Lengths& wei_lengths, const Lengths& wei_strides,
        const Lengths& out_lengths, const Lengths& out_strides, const std::array<Lengths, NumDTensor>& ds_lengths,
        const std::array<Lengths, NumDTensor>& ds_strides, const Spatial& conv_filter_strides,
        const Spatial& conv_filter_dilations, const Spatial& input_left_pads, const Spatial& input_right_pads,
        InElementwiseOperation in_op, WeiElementwiseOperation wei_op, OutElementwiseOperation out_op, index_t split_k) {
        return MakeArgumentPointer(p_in, p_wei, p_out, p_ds, widened(in_lengths), widened(in_strides),
                                   widened(wei_lengths), widened(wei_strides), widened(out_lengths),
                                   widened(out_strides), widened(ds_lengths), widened(ds_strides),
                                   widened(conv_filter_strides), widened(conv_filter_dilations),
                                   widened(input_left_pads), widened(input_right_pads), in_op, wei_op, out_op, split_k);
    }

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

// The interface for a layout triple (ckgen::layout), a data type set (ckgen::dtype), a function and its D tensors.
template <class Layout, class DataType, class Function, class DsLayout, class DsDataType>
using BwdWeightMultipleDOperator =
    DeviceGroupedConvBwdWeightMultipleD<Layout::ndim, typename Layout::In, typename Layout::Wei, typename Layout::Out,
                                        DsLayout, typename DataType::In, typename DataType::Wei, typename DataType::Out,
                                        DsDataType, element_wise::PassThrough, Function, element_wise::PassThrough,
                                        typename DataType::ComputeA, typename DataType::ComputeB>;

}  // namespace ckgen::tensor_operation::device
