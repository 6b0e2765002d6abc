// Copied by ckgen from templates/include/ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp. Do not edit; run: ckgen generate
// The operator interface of grouped convolution backward data with D tensors, with CK's template parameters.
#pragma once

#include <array>
#include <memory>

#include "ckgen/config/layout.hpp"
#include "ckgen/op/device_base.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::tensor_operation::device {

// E = f(sum over output channels and taps of A * B, D0, D1, ...), for each group. A is the gradient of the
// convolution's output, B the weight, E the gradient of its input. Lengths and strides (in elements) have the order G,
// N, K, spatial for A; G, K, C, filter for B; G, N, C, spatial for D tensors and E, in every layout: the layout shows
// in the strides. K and C count per group. D tensors of layouts GC and G_C have stride 0 except for G and C. A D tensor
// may have length 1 where it is broadcast. E may be one of the D tensors.
template <index_t NDimSpatial, class ALayout, class BLayout, class DsLayout, class ELayout, class ADataType,
          class BDataType, class DsDataType, class EDataType, class AElementwiseOperation, class BElementwiseOperation,
          class CDEElementwiseOperation, class AComputeType = ADataType, class BComputeType = AComputeType>
struct DeviceGroupedConvBwdDataMultipleD : BaseOperator {
    static constexpr index_t NumDTensor = DsDataType::Size();
    static_assert(NumDTensor == DsLayout::Size(), "a layout and a type for each D tensor");
    using Lengths = std::array<index_t, NDimSpatial + 3>;
    using Spatial = std::array<index_t, NDimSpatial>;
    using LongLengths = std::array<long_index_t, NDimSpatial + 3>;
    using LongSpatial = std::array<long_index_t, NDimSpatial>;

    // split_k: number of workgroups that share GEMM-K, each with an f32 partial in the workspace; with -1 the operator
    // chooses.
    virtual std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_a, const void* p_b, const std::array<const void*, NumDTensor>& p_ds, void* p_e,
                        const LongLengths& a_g_n_k_wos_lengths, const LongLengths& a_g_n_k_wos_strides,
                        const LongLengths& b_g_k_c_xs_lengths, const LongLengths& b_g_k_c_xs_strides,
                        const std::array<LongLengths, NumDTensor>& ds_g_n_c_wis_lengths,
                        const std::array<LongLengths, NumDTensor>& ds_g_n_c_wis_strides,
                        const LongLengths& e_g_n_c_wis_lengths, const LongLengths& e_g_n_c_wis_strides,
                        const LongSpatial& conv_filter_strides, const LongSpatial& conv_filter_dilations,
                        const LongSpatial& input_left_pads, const LongSpatial& input_right_pads,
                        const AElementwiseOperation& a_element_op, const BElementwiseOperation& b_element_op,
                        const CDEElementwiseOperation& cde_element_op, index_t split_k = 1) = 0;

    // The same with sizes of 32 bits.
    virtual std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_a, const void* p_b, const std::array<const void*, NumDTensor>& p_ds, void* p_e,
        const Lengths& a_g_n_k_wos_lengths, const Lengths& a_g_n_k_wos_strides, const Lengths& b_g_k_c_xs_lengths,
        const Lengths& b_g_k_c_xs_strides, const std::array<Lengths, NumDTensor>& ds_g_n_c_wis_lengths,
        const std::array<Lengths, NumDTensor>& ds_g_n_c_wis_strides, const Lengths& e_g_n_c_wis_lengths,
        const Lengths& e_g_n_c_wis_strides, const Spatial& conv_filter_strides, const Spatial& conv_filter_dilations,
        const Spatial& input_left_pads, const Spatial& input_right_pads, const AElementwiseOperation& a_element_op,
        const BElementwiseOperation& b_element_op, const CDEElementwiseOperation& cde_element_op, index_t split_k = 1) {
        return MakeArgumentPointer(
            p_a, p_b, p_ds, p_e, widened(a_g_n_k_wos_lengths), widened(a_g_n_k_wos_strides),
            widened(b_g_k_c_xs_lengths), widened(b_g_k_c_xs_strides), widened(ds_g_n_c_wis_lengths),
            widened(ds_g_n_c_wis_strides), widened(e_g_n_c_wis_lengths), widened(e_g_n_c_wis_strides),
            widened(conv_filter_strides), widened(conv_filter_dilations), widened(input_left_pads),
            widened(input_right_pads), a_element_op, b_element_op, cde_element_op, split_k);
    }

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

// The interface for a layout triple (ckgen::layout), a data type set (ckgen::dtype), a function and its D tensors.
template <class Layout, class DataType, class Function, class DsLayout, class DsDataType>
using BwdDataOperator =
    DeviceGroupedConvBwdDataMultipleD<Layout::ndim, typename Layout::Out, typename Layout::Wei, DsLayout,
                                      typename Layout::In, typename DataType::Out, typename DataType::Wei, DsDataType,
                                      typename DataType::In, element_wise::PassThrough, element_wise::PassThrough,
                                      Function, typename DataType::ComputeA, typename DataType::ComputeB>;

}  // namespace ckgen::tensor_operation::device
