// CK's class template of grouped convolution backward weight over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"

namespace ck::tensor_operation::device {

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
    : bwd_weight_of_arguments::BwdWeight<
          typename of_arguments::LayoutOf<NDimSpatial, InLayout, WeiLayout, OutLayout>::type, InDataType, WeiDataType,
          OutDataType, InElementwiseOperation, WeiElementwiseOperation, OutElementwiseOperation,
          of_arguments::Tile<
              BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerXdl, NPerXdl, ABlockTransferSrcScalarPerVector,
              BBlockTransferSrcScalarPerVector, CBlockTransferScalarPerVector_NWaveNPerXdl, 1,
              Specialization != ConvolutionBackwardWeightSpecialization::Default, true, sizeof(InDataType)>> {
    static_assert(std::is_same_v<AccDataType, float>, "ckgen accumulates in f32");
    static_assert(bwd_weight_of_arguments::has_kernel(Specialization),
                  "ckgen has the specializations Default and Filter1x1Stride1Pad0");
    static_assert(std::is_same_v<ComputeTypeA, InDataType> && std::is_same_v<ComputeTypeB, InDataType>,
                  "ckgen computes in the types of the tensors");
};

}  // namespace ck::tensor_operation::device
