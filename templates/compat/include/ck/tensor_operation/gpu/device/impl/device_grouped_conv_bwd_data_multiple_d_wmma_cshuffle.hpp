// CK's class template of grouped convolution backward data with WMMA over a kernel of family wmma.
#pragma once

#include "ck/tensor_operation/gpu/device/impl/bwd_data_of_arguments.hpp"

namespace ck::tensor_operation::device {

// Arguments without a name concern the copy of a tile to LDS, its place there, the types of intermediate results and
// the schedule of the loop: ckgen has rules of its own for them.
template <index_t NDimSpatial, class ALayout, class BLayout, class DsLayout, class ELayout, class ADataType,
          class BDataType, class AccDataType, class, class DsDataType, class EDataType, class AElementwiseOp,
          class BElementwiseOp, class CDEElementwiseOp, ConvolutionBackwardDataSpecialization Specialization,
          index_t BlockSize, index_t MPerBlock, index_t NPerBlock, index_t K0PerBlock, index_t K1, index_t MPerWMMA,
          index_t NPerWMMA, index_t, index_t, class, class, class, index_t, index_t ABlockTransferSrcScalarPerVector,
          index_t, bool, class, class, class, index_t, index_t BBlockTransferSrcScalarPerVector, index_t, bool, index_t,
          index_t, class, index_t CDEVector, index_t = 1, LoopScheduler = make_default_loop_scheduler(),
          PipelineVersion = PipelineVersion::v1>
struct DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle
    : bwd_data_of_arguments::BwdData<
          typename of_arguments::LayoutOf<NDimSpatial, ELayout, BLayout, ALayout>::type, DsLayout,
          of_arguments::Types<EDataType, BDataType, ADataType, AccDataType, ADataType>, DsDataType, AElementwiseOp,
          BElementwiseOp, CDEElementwiseOp,
          of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerWMMA, NPerWMMA,
                             ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector, CDEVector, 1,
                             Specialization != ConvolutionBackwardDataSpecialization::Default, false, sizeof(ADataType),
                             0, false, 32>,
          instances::BwdDataWmma> {

    std::string GetTypeString() const override {
        return of_arguments::type_string("DeviceGroupedConvBwdDataMultipleD_Wmma_CShuffle", BlockSize, MPerBlock,
                                         NPerBlock, K0PerBlock * K1,
                                         getConvBackwardDataSpecializationString(Specialization), K1,
                                         ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector);
    }
};

}  // namespace ck::tensor_operation::device
