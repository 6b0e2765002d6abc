// CK's class template of grouped convolution backward weight with D tensors over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_multiple_d_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS and its place there: ckgen has rules of its own for them.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class AccDataType, class DsDataType, class InElementwiseOperation,
          class WeiElementwiseOperation, class OutElementwiseOperation,
          ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize, index_t MPerBlock,
          index_t NPerBlock, index_t K0PerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl, index_t MXdlPerWave,
          index_t NXdlPerWave, class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t ADst,
          bool, class, class, class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t BDst, bool,
          index_t CShuffleM, index_t CShuffleN, class, index_t CBlockTransferScalarPerVector_NWaveNPerXdl,
          class ComputeTypeA = InDataType, class ComputeTypeB = ComputeTypeA>
struct DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle
    : bwd_weight_of_arguments::BwdWeightMultipleD<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type, DsLayout,
          of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, ComputeTypeA, ComputeTypeB>,
          DsDataType, InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerXdl, NPerXdl,
                             ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector,
                             CBlockTransferScalarPerVector_NWaveNPerXdl, 1,
                             Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0, true,
                             sizeof(ComputeTypeA)>,
          bwd_weight_of_arguments::Limits<Specialization>> {

    std::string GetTypeString() const override {
        return of_arguments::type_string(
            "DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle", BlockSize, MPerBlock, NPerBlock, K0PerBlock,
            getConvBackwardWeightSpecializationString(Specialization), K1, MXdlPerWave, NXdlPerWave,
            ABlockTransferSrcScalarPerVector, ADst, BBlockTransferSrcScalarPerVector, BDst, CShuffleM, CShuffleN,
            CBlockTransferScalarPerVector_NWaveNPerXdl);
    }
};

}  // namespace ck::tensor_operation::device
