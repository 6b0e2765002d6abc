// CK's class template of dense convolution backward data over a kernel of ckgen for one group.
#pragma once

#include "ck/tensor_operation/gpu/device/device_conv_bwd_data.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_data_multiple_d_xdl_cshuffle_v1.hpp"
#include "ckgen/library/convolution_backward_data.hpp"

namespace ck::tensor_operation::device {

namespace dense_bwd_data_of_arguments {

template <index_t NDimSpatial, class In, class Wei, class Out>
using Interface =
    DeviceConvBwdData<NDimSpatial, typename DenseLayout<NDimSpatial>::In, typename DenseLayout<NDimSpatial>::Wei,
                      typename DenseLayout<NDimSpatial>::Out, In, Wei, Out, element_wise::PassThrough,
                      element_wise::PassThrough, element_wise::PassThrough>;

template <class DenseInterface, class Config>
struct Make {
    using Dense = ConvBwdDataOfGrouped<typename Config::Layout, typename Config::DataType>;
    static std::unique_ptr<DenseInterface> make() {
        return std::make_unique<Dense>(bwd_data_of_arguments::Make<typename Dense::Grouped, Config>::make());
    }
};

}  // namespace dense_bwd_data_of_arguments

// Arguments without a name concern the copy of a tile to LDS, its place there, and the store of the result.
template <index_t NDimSpatial, class InDataType, class WeiDataType, class OutDataType, class AccDataType,
          class InElementwiseOperation, class WeiElementwiseOperation, class OutElementwiseOperation,
          ConvolutionBackwardDataSpecialization Specialization, index_t BlockSize, index_t MPerBlock, index_t NPerBlock,
          index_t K0PerBlock, index_t K1, index_t MPerXdl, index_t NPerXdl, index_t, index_t, class, class, class,
          index_t, index_t ABlockTransferSrcScalarPerVector, index_t, bool, class, class, class, index_t,
          index_t BBlockTransferSrcScalarPerVector, index_t, bool, index_t, index_t CThreadTransferDstScalarPerVector>
struct DeviceConvNdBwdDataNwcKxcNwk_Xdl
    : of_arguments::Operator<
          dense_bwd_data_of_arguments::Interface<NDimSpatial, InDataType, WeiDataType, OutDataType>,
          dense_bwd_data_of_arguments::Make<
              dense_bwd_data_of_arguments::Interface<NDimSpatial, InDataType, WeiDataType, OutDataType>,
              bwd_data_of_arguments::Config<
                  typename instance::GroupedLayoutOfDense<NDimSpatial>::type,
                  of_arguments::data_type_of<InDataType, WeiDataType, OutDataType, OutDataType, OutDataType>, Tuple<>,
                  Tuple<>, element_wise::PassThrough,
                  of_arguments::Tile<BlockSize, MPerBlock, NPerBlock, K0PerBlock * K1, MPerXdl, NPerXdl,
                                     ABlockTransferSrcScalarPerVector, BBlockTransferSrcScalarPerVector,
                                     CThreadTransferDstScalarPerVector, 1,
                                     Specialization != ConvolutionBackwardDataSpecialization::Default, false,
                                     sizeof(OutDataType)>>>> {
    static_assert(
        !std::is_void_v<of_arguments::data_type_of<InDataType, WeiDataType, OutDataType, OutDataType, OutDataType>>,
        "ckgen computes f16, bf16, f32 and int8");
    static_assert(
        std::is_same_v<AccDataType, typename of_arguments::AccumulatorOf<of_arguments::data_type_of<
                                        InDataType, WeiDataType, OutDataType, OutDataType, OutDataType>>::type>,
        "ckgen accumulates in f32, products of int8 in i32");
    static_assert(std::is_same_v<InElementwiseOperation, element_wise::PassThrough> &&
                      std::is_same_v<WeiElementwiseOperation, element_wise::PassThrough> &&
                      std::is_same_v<OutElementwiseOperation, element_wise::PassThrough>,
                  "ckgen's dense backward data takes no element-wise functions but PassThrough");

    using DeviceOp = DeviceConvNdBwdDataNwcKxcNwk_Xdl;
    using Spatial = std::vector<index_t>;

    std::unique_ptr<BaseArgument> MakeArgumentPointer(void* p_in, const void* p_wei, const void* p_out, index_t N,
                                                      index_t K, index_t C, Spatial input, Spatial filter,
                                                      Spatial output, Spatial strides, Spatial dilations,
                                                      Spatial left_pads, Spatial right_pads,
                                                      InElementwiseOperation in_op, WeiElementwiseOperation wei_op,
                                                      OutElementwiseOperation out_op) override {
        return DeviceOp::planned().MakeArgumentPointer(p_in, p_wei, p_out, N, K, C, input, filter, output, strides,
                                                       dilations, left_pads, right_pads, in_op, wei_op, out_op);
    }
};

}  // namespace ck::tensor_operation::device
