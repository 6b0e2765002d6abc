// CK's class template of two-stage grouped convolution backward weight over a kernel of family two_stage: a tile has
// NumGroupsToMerge groups. Tensors whose positions are contiguous are read as they are, TransposeSrc positions of the
// output at once. With split_k of 2 or more, a second kernel adds the partial sums, which is how all kernels
// of ckgen work.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS and its place there: ckgen has rules of its own for them.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class AccDataType, class InElementwiseOperation, class WeiElementwiseOperation,
          class OutElementwiseOperation, ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize,
          index_t MPerBlock, index_t NPerBlock, index_t KPerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl,
          index_t MXdlPerWave, index_t NXdlPerWave, class, class, class, index_t,
          index_t ABlockTransferSrcScalarPerVector, index_t ADst, bool, class, class, class, index_t,
          index_t BBlockTransferSrcScalarPerVector, index_t BDst, bool, index_t CShuffleM, index_t CShuffleN, class,
          index_t CBlockTransferScalarPerVector_NWaveNPerXdl,
          BlockGemmPipelineScheduler BlkGemmPipeSched = BlockGemmPipelineScheduler::Intrawave,
          BlockGemmPipelineVersion BlkGemmPipelineVer = BlockGemmPipelineVersion::v1, index_t NumGroupsToMerge = 1,
          class ComputeTypeA = InDataType, class ComputeTypeB = ComputeTypeA, index_t TransposeSrc = 1,
          index_t TransposeDst = 1>
struct DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle
    : bwd_weight_of_arguments::BwdWeight<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type,
          of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, ComputeTypeA, ComputeTypeB>,
          InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::MergedTile<
              NumGroupsToMerge,
              of_arguments::Tile<
                  BlockSize, MPerBlock, NPerBlock, KPerBlock, MPerXdl, NPerXdl,
                  InLayout::channels_last ? ABlockTransferSrcScalarPerVector : TransposeSrc,
                  InLayout::channels_last ? BBlockTransferSrcScalarPerVector
                  : Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0 ? TransposeSrc
                                                                                                    : 1,
                  CBlockTransferScalarPerVector_NWaveNPerXdl, of_arguments::buffers_of(BlkGemmPipelineVer),
                  Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0,
                  InLayout::channels_last, sizeof(ComputeTypeA), of_arguments::number_of(BlkGemmPipelineVer),
                  BlkGemmPipeSched == BlockGemmPipelineScheduler::Interwave>>,
          bwd_weight_of_arguments::Limits<Specialization>, instances::BwdWeightTwoStage> {

    std::string GetTypeString() const override {
        std::string text = of_arguments::type_string(
            "DeviceGroupedConvBwdWeightTwoStage_Xdl_CShuffle", BlockSize, MPerBlock, NPerBlock, KPerBlock,
            getConvBackwardWeightSpecializationString(Specialization), K1, MXdlPerWave, NXdlPerWave,
            ABlockTransferSrcScalarPerVector, ADst, BBlockTransferSrcScalarPerVector, BDst, CShuffleM, CShuffleN,
            CBlockTransferScalarPerVector_NWaveNPerXdl, of_arguments::word_of(BlkGemmPipeSched),
            of_arguments::word_of(BlkGemmPipelineVer), NumGroupsToMerge);
        if constexpr(!InLayout::channels_last) {
            text.back() = ',';
            text += " TransposeTransferSrcScalarPerVector: " + std::to_string(TransposeSrc) +
                    ", TransposeTransferDstScalarPerVector: " + std::to_string(TransposeDst) + ">";
        }
        return text;
    }
};

}  // namespace ck::tensor_operation::device
