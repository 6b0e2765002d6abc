// CK's class template of grouped convolution backward data over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_data_of_arguments.hpp"

namespace ck::tensor_operation::device {

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
    : bwd_data_of_arguments::BwdData<
          typename of_arguments::LayoutOf<NDimSpatial, ELayout, BLayout, ALayout>::type, DsLayout,
          of_arguments::Types<EDataType, BDataType, ADataType, AccDataType, AComputeType, BComputeType>, DsDataType,
          AElementwiseOp, BElementwiseOp, CDEElementwiseOp,
          of_arguments::Tile<
              BlockSize, MPerBlock, NPerBlock, KPerBlock, MPerXDL, NPerXDL, ABlockTransferSrcScalarPerVector,
              BBlockTransferSrcScalarPerVector, CDEBlockTransferScalarPerVector_NPerBlock, NumGemmKPrefetchStage,
              Specialization != ConvolutionBackwardDataSpecialization::Default, false, sizeof(AComputeType)>> {
    static_assert(DoPadGemmM && DoPadGemmN, "ckgen's kernels take every GEMM-M and GEMM-N");
};

}  // namespace ck::tensor_operation::device
