// The operator interface of grouped convolution backward data with D tensors, parameter for parameter CK's.
#pragma once

#include <array>
#include <memory>

#include "ckgen/config/layout.hpp"
#include "ckgen/op/device_base.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::tensor_operation::device {

// E = f(sum over output channels and taps of A * B, D0, D1, ...), for each group: A is the gradient of the
// convolution's output, B the weight, E the gradient of its input. Lengths and strides (in elements): a G, N, K,
// spatial; b G, K, C, filter; ds and e G, N, C, spatial, in that order whatever the layout; the layout shows in the
// strides. C and K are per group. D tensors of layouts GC and G_C have strides 0 but for G and C; where a D tensor is
// broadcast, its length may be
// 1. E may be one of the D tensors.
template <index_t NDimSpatial, class ALayout, class BLayout, class DsLayout, class ELayout, class ADataType,
          class BDataType, class DsDataType, class EDataType, class AElementwiseOperation, class BElementwiseOperation,
          class CDEElementwiseOperation, class AComputeType = ADataType, class BComputeType = AComputeType>
struct DeviceGroupedConvBwdDataMultipleD : BaseOperator {
    static constexpr index_t NumDTensor = DsDataType::Size();
    static_assert(NumDTensor == DsLayout::Size(), "a layout and a type for each D tensor");
    using Lengths = std::array<index_t, NDimSpatial + 3>;
    using Spatial = std::array<index_t, NDimSpatial>;

    // split_k: how many workgroups share GEMM-K, each with an f32 partial in the workspace; -1 lets the operator
    // choose.
    virtual std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_a, const void* p_b, const std::array<const void*, NumDTensor>& p_ds, void* p_e,
        const Lengths& a_g_n_k_wos_lengths, const Lengths& a_g_n_k_wos_strides, const Lengths& b_g_k_c_xs_lengths,
        const Lengths& b_g_k_c_xs_strides, const std::array<Lengths, NumDTensor>& ds_g_n_c_wis_lengths,
        const std::array<Lengths, NumDTensor>& ds_g_n_c_wis_strides, const Lengths& e_g_n_c_wis_lengths,
        const Lengths& e_g_n_c_wis_strides, const Spatial& conv_filter_strides, const Spatial& conv_filter_dilations,
        const Spatial& input_left_pads, const Spatial& input_right_pads, const AElementwiseOperation& a_element_op,
        const BElementwiseOperation& b_element_op, const CDEElementwiseOperation& cde_element_op,
        index_t split_k = 1) = 0;

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

// The interface for a layout triple (ckgen::layout), a data type set (ckgen::dtype), a function and its D tensors.
template <class Layout, class DataType, class Function, class DsLayout, class DsDataType>
using BwdDataOperator =
    DeviceGroupedConvBwdDataMultipleD<Layout::ndim, typename Layout::Out, typename Layout::Wei, DsLayout,
                                      typename Layout::In, typename DataType::Out, typename DataType::Wei, DsDataType,
                                      typename DataType::In, element_wise::PassThrough, element_wise::PassThrough,
                                      Function>;

}  // namespace ckgen::tensor_operation::device
