// CK's class template of grouped convolution backward weight over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/convolution_backward_weight_specialization.hpp"
#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_weight.hpp"
#include "ck/tensor_operation/gpu/device/impl/operator_of_arguments.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ckgen/op/impl/bwd_weight_mfma.hpp"

namespace ck::tensor_operation::device {

namespace bwd_weight_of_arguments {
using Spec = ConvolutionBackwardWeightSpecialization;

template <class LayoutTriple, class DataTypes, class Tile>
struct Config : Tile {
    static constexpr const char* name = "DeviceGroupedConvBwdWeight_Xdl_CShuffle";
    using Layout = LayoutTriple;
    using DataType = DataTypes;
};

template <class Interface, class Config>
struct Make {
    using Family = instances::BwdWeightXdl;
    using Checked = typename Family::template Checked<Config>;
    static std::unique_ptr<Interface> make() {
        constexpr auto entry = &of_arguments::entry<typename Family::template Kernel<Checked>>;
#if CKGEN_DEVICE_PASS
        static_cast<void>(entry());
        return nullptr;
#else
        return std::make_unique<PlannedBwdWeightOperator<Checked, Family, entry, nullptr>>();
#endif
    }
};
}  // namespace bwd_weight_of_arguments

// Arguments without a name concern the copy of a tile to LDS and its place there: ckgen has rules of its own for them.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class AccDataType, class InElementwiseOperation, class WeiElementwiseOperation,
          class OutElementwiseOperation, ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize,
          index_t MPerBlock, index_t NPerBlock, index_t K0PerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl,
          index_t, index_t, class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t, bool,
          class, class, class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t, bool, index_t, index_t,
          class, index_t CBlockTransferScalarPerVector_NWaveNPerXdl, class ComputeTypeA = InDataType,
          class ComputeTypeB = ComputeTypeA>
struct DeviceGroupedConvBwdWeight_Xdl_CShuffle
    : of_arguments::Operator<
          DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType, OutDataType,
                                     InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
                                     ComputeTypeA, ComputeTypeB>,
          bwd_weight_of_arguments::Make<
              DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType,
                                         OutDataType, InElementwiseOperation, WeiElementwiseOperation,
                                         OutElementwiseOperation, ComputeTypeA, ComputeTypeB>,
              bwd_weight_of_arguments::Config<
                  typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type,
                  of_arguments::data_type_of<InDataType, WeiDataType, OutDataType, ComputeTypeA, ComputeTypeB>,
                  of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerXdl, NPerXdl,
                                     ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector,
                                     CBlockTransferScalarPerVector_NWaveNPerXdl, 1,
                                     Specialization != bwd_weight_of_arguments::Spec::Default, true,
                                     sizeof(ComputeTypeA)>>>> {
    static_assert(
        !std::is_void_v<of_arguments::data_type_of<InDataType, WeiDataType, OutDataType, ComputeTypeA, ComputeTypeB>>,
        "no data type of ckgen has these types of tensors and operands: docs/support.md lists them");
    static_assert(
        std::is_same_v<AccDataType, typename of_arguments::AccumulatorOf<of_arguments::data_type_of<
                                        InDataType, WeiDataType, OutDataType, ComputeTypeA, ComputeTypeB>>::type>,
        "ckgen accumulates in f32, products of int8 in i32");
    static_assert(std::is_same_v<InElementwiseOperation, element_wise::PassThrough> &&
                      std::is_same_v<WeiElementwiseOperation, element_wise::PassThrough> &&
                      std::is_same_v<OutElementwiseOperation, element_wise::PassThrough>,
                  "ckgen's backward weight takes no element-wise functions but PassThrough");
    static_assert(Specialization == bwd_weight_of_arguments::Spec::Default ||
                      Specialization == bwd_weight_of_arguments::Spec::Filter1x1Stride1Pad0,
                  "ckgen has the specializations Default and Filter1x1Stride1Pad0");

    using DeviceOp = DeviceGroupedConvBwdWeight_Xdl_CShuffle;
    using Interface = DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType,
                                                 OutDataType, InElementwiseOperation, WeiElementwiseOperation,
                                                 OutElementwiseOperation, ComputeTypeA, ComputeTypeB>;
    using Lengths = typename Interface::LongLengths;
    using Spatial = typename Interface::LongSpatial;

    using DeviceOp::Operator::MakeArgument;
    static auto
    MakeArgument(const void* p_in, void* p_wei, const void* p_out, const typename Interface::Lengths& in_lengths,
                 const typename Interface::Lengths& in_strides, const typename Interface::Lengths& wei_lengths,
                 const typename Interface::Lengths& wei_strides, const typename Interface::Lengths& out_lengths,
                 const typename Interface::Lengths& out_strides, const typename Interface::Spatial& strides,
                 const typename Interface::Spatial& dilations, const typename Interface::Spatial& left_pads,
                 const typename Interface::Spatial& right_pads, InElementwiseOperation in_op,
                 WeiElementwiseOperation wei_op, OutElementwiseOperation out_op, index_t split_k) {
        return typename DeviceOp::Argument(DeviceOp::planned().MakeArgumentPointer(
            p_in, p_wei, p_out, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides, strides,
            dilations, left_pads, right_pads, in_op, wei_op, out_op, split_k));
    }

    using Interface::MakeArgumentPointer;
    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads,
                                                      InElementwiseOperation in_op, WeiElementwiseOperation wei_op,
                                                      OutElementwiseOperation out_op, index_t split_k) override {
        return DeviceOp::planned().MakeArgumentPointer(p_in, p_wei, p_out, in_lengths, in_strides, wei_lengths,
                                                       wei_strides, out_lengths, out_strides, strides, dilations,
                                                       left_pads, right_pads, in_op, wei_op, out_op, split_k);
    }
};

}  // namespace ck::tensor_operation::device
