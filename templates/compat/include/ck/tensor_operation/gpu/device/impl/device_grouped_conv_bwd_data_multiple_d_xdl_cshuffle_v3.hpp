// The class template of grouped convolution backward data with pipelines, which newer versions of CK have, over a
// kernel of ckgen. Its arguments are those of rocm-libraries' projects/composablekernel at 040e271d.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_data_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS, its place there, and the types of intermediate results:
// ckgen has rules of its own for them. DirectLoad is one of them: tiles go through registers, with the same results.
template <index_t NDimSpatial, class ALayout, class BLayout, class DsLayout, class ELayout, class ADataType,
          class BDataType, class AccDataType, class, class DsDataType, class EDataType, class AElementwiseOp,
          class BElementwiseOp, class CDEElementwiseOp, ConvolutionBackwardDataSpecialization Specialization,
          bool DoPadGemmM, bool DoPadGemmN, index_t BlockSize, index_t MPerBlock, index_t NPerBlock, index_t KPerBlock,
          index_t AK1, index_t BK1, index_t MPerXdl, index_t NPerXdl, index_t MRepeat, index_t NRepeat, class, class,
          class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t, index_t, class, class, class, index_t,
          index_t BBlockTransferSrcScalarPerVector, index_t, index_t, index_t CShuffleM, index_t CShuffleN, class,
          index_t CShuffleBlockTransferScalarPerVector,
          BlockGemmPipelineScheduler BlkGemmPipeSched = BlockGemmPipelineScheduler::Intrawave,
          BlockGemmPipelineVersion BlkGemmPipelineVer = BlockGemmPipelineVersion::v1, class AComputeType = ADataType,
          class BComputeType = AComputeType, bool DirectLoad = false, bool LargeTensors = false>
struct DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3
    : bwd_data_of_arguments::BwdData<
          typename of_arguments::LayoutOf<NDimSpatial, ELayout, BLayout, ALayout>::type, DsLayout,
          of_arguments::Types<EDataType, BDataType, ADataType, AccDataType, AComputeType, BComputeType>, DsDataType,
          AElementwiseOp, BElementwiseOp, CDEElementwiseOp,
          of_arguments::Tile<
              BlockSize, MPerBlock, NPerBlock, KPerBlock, MPerXdl, NPerXdl, ABlockTransferSrcScalarPerVector,
              BBlockTransferSrcScalarPerVector, CShuffleBlockTransferScalarPerVector, 1,
              Specialization != ConvolutionBackwardDataSpecialization::Default, false, sizeof(AComputeType)>> {
    static_assert(DoPadGemmM && DoPadGemmN, "ckgen's kernels take every GEMM-M and GEMM-N");
    static_assert(BlkGemmPipeSched == BlockGemmPipelineScheduler::Intrawave &&
                      BlkGemmPipelineVer == BlockGemmPipelineVersion::v1,
                  "kernels of backward data have CK's pipeline Intrawave v1, the one of all rows of CK's lists");

    // All kernels take tensors over 2 GiB.
    static constexpr bool large_tensors = LargeTensors;

    std::string GetTypeString() const override {
        return of_arguments::type_string(std::string("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffleV3") +
                                             (DirectLoad ? "_DirectLoad" : "") + (LargeTensors ? "_Large_Tensor" : ""),
                                         BlockSize, MPerBlock, NPerBlock, KPerBlock, AK1, BK1,
                                         getConvBackwardDataSpecializationString(Specialization), MPerXdl, NPerXdl,
                                         MRepeat, NRepeat, ABlockTransferSrcScalarPerVector,
                                         BBlockTransferSrcScalarPerVector, CShuffleM, CShuffleN);
    }
};

}  // namespace ck::tensor_operation::device
