// The operator interface of grouped convolution backward weight with D tensors, with CK's template parameters.
#pragma once

#include "ck/ck.hpp"
#include "ckgen/device/device_grouped_conv_bwd_weight.hpp"

namespace ck::tensor_operation::device {

// dWei = f(sum over images and output positions of dOut * In, D0, D1, ...), for each group. Lengths and strides are
// those of DeviceGroupedConvBwdWeight; D tensors have the weight's order.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class DsDataType, class InElementwiseOperation,
          class WeiElementwiseOperation, class OutElementwiseOperation, class ComputeTypeA = InDataType,
          class ComputeTypeB = ComputeTypeA>
struct DeviceGroupedConvBwdWeightMultipleD : BaseOperator {
    static constexpr index_t NumDTensor = DsLayout::Size();
    using Lengths = std::array<index_t, NDimSpatial + 3>;
    using Spatial = std::array<index_t, NDimSpatial>;

    virtual std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_in, void* p_wei, const void* p_out, const std::array<const void*, NumDTensor>& p_ds,
        const Lengths& in_lengths, const Lengths& in_strides, const Lengths& wei_lengths, const Lengths& wei_strides,
        const Lengths& out_lengths, const Lengths& out_strides, const std::array<Lengths, NumDTensor>& ds_lengths,
        const std::array<Lengths, NumDTensor>& ds_strides, const Spatial& conv_filter_strides,
        const Spatial& conv_filter_dilations, const Spatial& input_left_pads, const Spatial& input_right_pads,
        InElementwiseOperation in_op, WeiElementwiseOperation wei_op, OutElementwiseOperation out_op,
        index_t split_k) = 0;

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

}  // namespace ck::tensor_operation::device
