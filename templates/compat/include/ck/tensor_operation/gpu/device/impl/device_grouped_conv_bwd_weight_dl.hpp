// CK's class template of grouped convolution backward weight without matrix instructions over a kernel of family dl,
// whose threads multiply by dot products.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name divide a tile among threads and lay it out in LDS: ckgen has rules of its own for them.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class AccDataType, class InElementwiseOperation, class WeiElementwiseOperation,
          class OutElementwiseOperation, ConvolutionBackwardWeightSpecialization Specialization, index_t BlockSize,
          index_t MPerBlock, index_t NPerBlock, index_t K0PerBlock, index_t K1, index_t, index_t, index_t, class, class,
          class, class, class, class, class ABlockTransferSrcVectorTensorLengths, class, class, class, class, class,
          class, class BBlockTransferSrcVectorTensorLengths, class, class, class, index_t,
          index_t CThreadTransferDstScalarPerVector>
struct DeviceGroupedConvBwdWeight_Dl
    : bwd_weight_of_arguments::BwdWeight<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type,
          of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, InDataType>, InElementwiseOperation,
          WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, 32, 32,
                             of_arguments::Elements<ABlockTransferSrcVectorTensorLengths>::value,
                             of_arguments::Elements<BBlockTransferSrcVectorTensorLengths>::value,
                             CThreadTransferDstScalarPerVector, 1,
                             Specialization == ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0, true,
                             sizeof(InDataType)>,
          bwd_weight_of_arguments::Limits<Specialization, false>, instances::BwdWeightDl> {

    std::string GetTypeString() const override {
        return of_arguments::type_string("DeviceGroupedConvBwdWeight_Dl", BlockSize, MPerBlock, NPerBlock, K0PerBlock,
                                         getConvBackwardWeightSpecializationString(Specialization), K1);
    }
};

}  // namespace ck::tensor_operation::device
