// CK's class template of dense convolution backward data over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/dense_bwd_data_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS, its place there, and the store of the result.
template <index_t NDimSpatial, class InDataType, class WeiDataType, class OutDataType, class AccDataType,
          class InElementwiseOperation, class WeiElementwiseOperation, class OutElementwiseOperation,
          ConvolutionBackwardDataSpecialization Specialization, index_t BlockSize, index_t MPerBlock, index_t NPerBlock,
          index_t K0PerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl, index_t MXdlPerWave, index_t NXdlPerWave,
          class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector, index_t ADst, bool, class, class,
          class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t BDst, bool, index_t,
          index_t CThreadTransferDstScalarPerVector>
struct DeviceConvNdBwdDataNwcKxcNwk_Xdl
    : dense_bwd_data_of_arguments::DenseBwdData<
          NDimSpatial, of_arguments::Types<InDataType, WeiDataType, OutDataType, AccDataType, OutDataType>,
          InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::Tile<
              BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerXdl, NPerXdl, ABlockTransferSrcScalarPerVector,
              BBlockTransferSrcScalarPerVector, CThreadTransferDstScalarPerVector, 1,
              Specialization != ConvolutionBackwardDataSpecialization::Default, false, sizeof(OutDataType)>> {

    std::string GetTypeString() const override {
        const bool pointwise = Specialization != ConvolutionBackwardDataSpecialization::Default;
        return of_arguments::type_string("DeviceConvNdBwdDataNwcKxcNwk_Xdl", BlockSize, MPerBlock, NPerBlock,
                                         K0PerBlock, K1, MXdlPerWave, NXdlPerWave, ABlockTransferSrcScalarPerVector,
                                         ADst, BBlockTransferSrcScalarPerVector, BDst) +
               (pointwise ? " Filter1x1Stride1Pad0" : "");
    }
};

}  // namespace ck::tensor_operation::device
