// CK's class template of grouped convolution backward weight with WMMA over a kernel of family wmma.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS, its place there, and the schedule of the loop: ckgen has
// rules of its own for them.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class AccDataType, class InElementwiseOperation, class WeiElementwiseOperation,
          class OutElementwiseOperation, ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize,
          index_t MPerBlock, index_t NPerBlock, index_t K0PerBlock, index_t K1, index_t MPerWMMA, index_t NPerWMMA,
          index_t, index_t, class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t ADst, bool,
          class, class, class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t BDst, bool, index_t CShuffleM,
          index_t CShuffleN, class, index_t CVector, index_t = 1, LoopScheduler = make_default_loop_scheduler(),
          PipelineVersion = PipelineVersion::v1, std::enable_if_t<NDimSpatial == 3, bool> = false>
struct DeviceGroupedConvBwdWeight_Wmma_CShuffle
    : bwd_weight_of_arguments::BwdWeight<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type,
          of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, InDataType>, InElementwiseOperation,
          WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerWMMA, NPerWMMA,
                             ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector, CVector, 1,
                             Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0, true,
                             sizeof(InDataType), 0, false, 32>,
          bwd_weight_of_arguments::Limits<Specialization, false>, instances::BwdWeightWmma> {

    std::string GetTypeString() const override {
        return of_arguments::type_string("DeviceGroupedConvBwdWeight_Wmma_CShuffle", BlockSize, MPerBlock, NPerBlock,
                                         K0PerBlock, getConvBackwardWeightSpecializationString(Specialization), K1,
                                         ABlockTransferSrcScalarPerVector, ADst, BBlockTransferSrcScalarPerVector, BDst,
                                         CShuffleM, CShuffleN, CVector);
    }
};

}  // namespace ck::tensor_operation::device
