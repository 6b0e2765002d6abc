// CK's class template of grouped convolution backward data over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/convolution_backward_data_specialization.hpp"
#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_data_multiple_d.hpp"
#include "ck/tensor_operation/gpu/device/impl/operator_of_arguments.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ckgen/op/impl/bwd_data_mfma.hpp"

namespace ck {

// Schedules of a kernel's loop, of which ckgen has one.
enum struct LoopScheduler { Default, Interwave };
inline constexpr LoopScheduler make_default_loop_scheduler() { return LoopScheduler::Default; }

}  // namespace ck

namespace ck::tensor_operation::device {

namespace bwd_data_of_arguments {
using Spec = ConvolutionBackwardDataSpecialization;

template <class LayoutTriple, class DataTypes, class Ds, class DTypes, class CDEFunction, class Tile>
struct Config : Tile {
    static constexpr const char* name = "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1";
    using Layout = LayoutTriple;
    using DataType = DataTypes;
    using Function = CDEFunction;
    using DsLayout = Ds;
    using DsDataType = DTypes;
};

template <class Interface, class Config>
struct Make {
    using Family = instances::BwdDataXdl;
    using Checked = typename Family::template Checked<Config>;
    static std::unique_ptr<Interface> make() {
        constexpr auto entry = &of_arguments::entry<typename Family::template Kernel<Checked>>;
        constexpr auto reduction = &of_arguments::entry<typename Family::template Reduction<Checked>>;
#if CKGEN_DEVICE_PASS
        static_cast<void>(entry());
        static_cast<void>(reduction());
        return nullptr;
#else
        return std::make_unique<PlannedBwdDataOperator<Checked, Family, entry, reduction>>();
#endif
    }
};
}  // namespace bwd_data_of_arguments

// Arguments without a name concern the copy of a tile to LDS, its place there, and the types of intermediate results:
// ckgen has rules of its own for them.
template <index_t NDimSpatial, class ALayout, class BLayout, class DsLayout, class ELayout, class ADataType,
          class BDataType, class AccDataType, class, class DsDataType, class EDataType, class AElementwiseOp,
          class BElementwiseOp, class CDEElementwiseOp, ConvolutionBackwardDataSpecialization Specialization,
          bool DoPadGemmM, bool DoPadGemmN, index_t NumGemmKPrefetchStage, index_t BlockSize, index_t MPerBlock,
          index_t NPerBlock, index_t KPerBlock, index_t, index_t, index_t MPerXDL, index_t NPerXDL, index_t, index_t,
          class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t, index_t, class, class, class,
          index_t, index_t BBlockTransferSrcScalarPerVector, index_t, index_t, index_t, index_t, class,
          index_t CDEBlockTransferScalarPerVector_NPerBlock, LoopScheduler = make_default_loop_scheduler(),
          class AComputeType = ADataType, class BComputeType = AComputeType>
struct DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1
    : of_arguments::Operator<
          DeviceGroupedConvBwdDataMultipleD<NDimSpatial, ALayout, BLayout, DsLayout, ELayout, ADataType, BDataType,
                                            DsDataType, EDataType, AElementwiseOp, BElementwiseOp, CDEElementwiseOp,
                                            AComputeType, BComputeType>,
          bwd_data_of_arguments::Make<
              DeviceGroupedConvBwdDataMultipleD<NDimSpatial, ALayout, BLayout, DsLayout, ELayout, ADataType, BDataType,
                                                DsDataType, EDataType, AElementwiseOp, BElementwiseOp, CDEElementwiseOp,
                                                AComputeType, BComputeType>,
              bwd_data_of_arguments::Config<
                  typename of_arguments::LayoutOf<NDimSpatial, ELayout, BLayout, ALayout>::type,
                  of_arguments::data_type_of<EDataType, BDataType, ADataType, AComputeType, BComputeType>, DsLayout,
                  DsDataType, CDEElementwiseOp,
                  of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, KPerBlock, MPerXDL, NPerXDL,
                                     ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector,
                                     CDEBlockTransferScalarPerVector_NPerBlock, NumGemmKPrefetchStage,
                                     Specialization != bwd_data_of_arguments::Spec::Default, false,
                                     sizeof(AComputeType)>>>> {
    static_assert(
        !std::is_void_v<of_arguments::data_type_of<EDataType, BDataType, ADataType, AComputeType, BComputeType>>,
        "no data type of ckgen has these types of tensors and operands: docs/support.md lists them");
    static_assert(std::is_same_v<AccDataType, typename of_arguments::AccumulatorOf<of_arguments::data_type_of<
                                                  EDataType, BDataType, ADataType, AComputeType, BComputeType>>::type>,
                  "ckgen accumulates in f32, products of int8 in i32");
    static_assert(std::is_same_v<AElementwiseOp, element_wise::PassThrough> &&
                      std::is_same_v<BElementwiseOp, element_wise::PassThrough>,
                  "ckgen applies element-wise functions to the result only");
    static_assert(DoPadGemmM && DoPadGemmN, "ckgen's kernels take every GEMM-M and GEMM-N");

    using DeviceOp = DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1;
    using Interface = DeviceGroupedConvBwdDataMultipleD<NDimSpatial, ALayout, BLayout, DsLayout, ELayout, ADataType,
                                                        BDataType, DsDataType, EDataType, AElementwiseOp,
                                                        BElementwiseOp, CDEElementwiseOp, AComputeType, BComputeType>;
    using Lengths = typename Interface::LongLengths;
    using Spatial = typename Interface::LongSpatial;

    using DeviceOp::Operator::MakeArgument;
    static auto MakeArgument(const void* p_a, const void* p_b,
                             const std::array<const void*, Interface::NumDTensor>& p_ds, void* p_e,
                             const typename Interface::Lengths& a_lengths, const typename Interface::Lengths& a_strides,
                             const typename Interface::Lengths& b_lengths, const typename Interface::Lengths& b_strides,
                             const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_lengths,
                             const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_strides,
                             const typename Interface::Lengths& e_lengths, const typename Interface::Lengths& e_strides,
                             const typename Interface::Spatial& strides, const typename Interface::Spatial& dilations,
                             const typename Interface::Spatial& left_pads,
                             const typename Interface::Spatial& right_pads, const AElementwiseOp& a_op,
                             const BElementwiseOp& b_op, const CDEElementwiseOp& cde_op, index_t split_k = 1) {
        return typename DeviceOp::Argument(DeviceOp::planned().MakeArgumentPointer(
            p_a, p_b, p_ds, p_e, a_lengths, a_strides, b_lengths, b_strides, ds_lengths, ds_strides, e_lengths,
            e_strides, strides, dilations, left_pads, right_pads, a_op, b_op, cde_op, split_k));
    }

    using Interface::MakeArgumentPointer;
    std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_a, const void* p_b, const std::array<const void*, Interface::NumDTensor>& p_ds,
                        void* p_e, const Lengths& a_lengths, const Lengths& a_strides, const Lengths& b_lengths,
                        const Lengths& b_strides, const std::array<Lengths, Interface::NumDTensor>& ds_lengths,
                        const std::array<Lengths, Interface::NumDTensor>& ds_strides, const Lengths& e_lengths,
                        const Lengths& e_strides, const Spatial& strides, const Spatial& dilations,
                        const Spatial& left_pads, const Spatial& right_pads, const AElementwiseOp& a_op,
                        const BElementwiseOp& b_op, const CDEElementwiseOp& cde_op, index_t split_k) override {
        return DeviceOp::planned().MakeArgumentPointer(p_a, p_b, p_ds, p_e, a_lengths, a_strides, b_lengths, b_strides,
                                                       ds_lengths, ds_strides, e_lengths, e_strides, strides, dilations,
                                                       left_pads, right_pads, a_op, b_op, cde_op, split_k);
    }
};

}  // namespace ck::tensor_operation::device
