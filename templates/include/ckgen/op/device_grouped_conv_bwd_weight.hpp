// The operator interface of grouped convolution backward weight, with CK's template parameters.
#pragma once

#include <array>
#include <memory>

#include "ckgen/config/layout.hpp"
#include "ckgen/op/device_base.hpp"
#include "ckgen/op/element_wise_operation.hpp"

namespace ckgen::tensor_operation::device {

// dWei = sum over images and output positions of dOut * In, for each group. Lengths and strides (in elements) have the
// order G, N, C, spatial for the input; G, K, C, filter for the weight; G, N, K, spatial for the output, in every
// layout: the layout shows in the strides. K and C count per group.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class InElementwiseOperation, class WeiElementwiseOperation, class OutElementwiseOperation,
          class ComputeTypeA = InDataType, class ComputeTypeB = ComputeTypeA>
struct DeviceGroupedConvBwdWeight : BaseOperator {
    using Lengths = std::array<index_t, NDimSpatial + 3>;
    using Spatial = std::array<index_t, NDimSpatial>;
    using LongLengths = std::array<long_index_t, NDimSpatial + 3>;
    using LongSpatial = std::array<long_index_t, NDimSpatial>;

    // split_k: number of workgroups that share GEMM-K, each with an f32 partial in the workspace; with -1 the operator
    // chooses.
    virtual std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out, const LongLengths& in_lengths,
                        const LongLengths& in_strides, const LongLengths& wei_lengths, const LongLengths& wei_strides,
                        const LongLengths& out_lengths, const LongLengths& out_strides,
                        const LongSpatial& conv_filter_strides, const LongSpatial& conv_filter_dilations,
                        const LongSpatial& input_left_pads, const LongSpatial& input_right_pads,
                        InElementwiseOperation in_op, WeiElementwiseOperation wei_op, OutElementwiseOperation out_op,
                        index_t split_k) = 0;

    // The same with sizes of 32 bits.
    virtual std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out, const Lengths& in_lengths,
                        const Lengths& in_strides, const Lengths& wei_lengths, const Lengths& wei_strides,
                        const Lengths& out_lengths, const Lengths& out_strides, const Spatial& conv_filter_strides,
                        const Spatial& conv_filter_dilations, const Spatial& input_left_pads,
                        const Spatial& input_right_pads, InElementwiseOperation in_op, WeiElementwiseOperation wei_op,
                        OutElementwiseOperation out_op, index_t split_k) {
        return MakeArgumentPointer(p_in, p_wei, p_out, widened(in_lengths), widened(in_strides), widened(wei_lengths),
                                   widened(wei_strides), widened(out_lengths), widened(out_strides),
                                   widened(conv_filter_strides), widened(conv_filter_dilations),
                                   widened(input_left_pads), widened(input_right_pads), in_op, wei_op, out_op, split_k);
    }

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

// The interface for a layout triple (ckgen::layout) and a data type set (ckgen::dtype).
template <class Layout, class DataType>
using BwdWeightOperator =
    DeviceGroupedConvBwdWeight<Layout::ndim, typename Layout::In, typename Layout::Wei, typename Layout::Out,
                               typename DataType::In, typename DataType::Wei, typename DataType::Out,
                               element_wise::PassThrough, element_wise::PassThrough, element_wise::PassThrough,
                               typename DataType::ComputeA, typename DataType::ComputeB>;

}  // namespace ckgen::tensor_operation::device
