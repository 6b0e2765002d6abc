// The class template of grouped convolution backward weight with pipelines, which newer versions of CK have, over a
// kernel of ckgen: of family xdl, or of family two_stage if groups are merged.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS and its place there: ckgen has rules of its own for them.
template <
    index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
    class OutDataType, class AccDataType, class InElementwiseOperation, class WeiElementwiseOperation,
    class OutElementwiseOperation, ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize,
    index_t MPerBlock, index_t NPerBlock, index_t KPerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl,
    index_t MXdlPerWave, index_t NXdlPerWave, class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector,
    index_t ADst, bool, class, class, class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t BDst, bool,
    index_t CShuffleM, index_t CShuffleN, class, index_t CBlockTransferScalarPerVector_NWaveNPerXdl,
    BlockGemmPipelineScheduler BlkGemmPipeSched = BlockGemmPipelineScheduler::Intrawave,
    BlockGemmPipelineVersion BlkGemmPipelineVer = BlockGemmPipelineVersion::v1, class ComputeTypeA = InDataType,
    class ComputeTypeB = ComputeTypeA, bool DirectLoad = false, index_t NumGroupsToMerge = 1, bool LargeTensors = false>
struct DeviceGroupedConvBwdWeight_Xdl_CShuffleV3
    : bwd_weight_of_arguments::BwdWeight<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type,
          of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, ComputeTypeA, ComputeTypeB>,
          InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::MergedTile<
              NumGroupsToMerge,
              of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, KPerBlock, MPerXdl, NPerXdl,
                                 ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector,
                                 CBlockTransferScalarPerVector_NWaveNPerXdl,
                                 of_arguments::buffers_of(BlkGemmPipelineVer),
                                 Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0, true,
                                 sizeof(ComputeTypeA), of_arguments::number_of(BlkGemmPipelineVer),
                                 BlkGemmPipeSched == BlockGemmPipelineScheduler::Interwave>>,
          bwd_weight_of_arguments::Limits<Specialization>,
          std::conditional_t<NumGroupsToMerge == 1, instances::BwdWeightXdl, instances::BwdWeightTwoStage>> {
    static_assert(!DirectLoad, "family xdl has no kernels that load directly to LDS: DirectLoad must be false");

    // All kernels take tensors over 2 GiB.
    static constexpr bool large_tensors = LargeTensors;

    std::string GetTypeString() const override {
        return of_arguments::type_string(
            "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3", BlockSize, MPerBlock, NPerBlock, KPerBlock,
            getConvBackwardWeightSpecializationString(Specialization), K1, MXdlPerWave, NXdlPerWave,
            ABlockTransferSrcScalarPerVector, ADst, BBlockTransferSrcScalarPerVector, BDst, CShuffleM, CShuffleN,
            CBlockTransferScalarPerVector_NWaveNPerXdl, of_arguments::word_of(BlkGemmPipeSched),
            of_arguments::word_of(BlkGemmPipelineVer));
    }
};

}  // namespace ck::tensor_operation::device
