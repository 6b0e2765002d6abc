// The common base of CK's class templates of dense convolution backward data: an operator over a kernel of ckgen for
// one group.
#pragma once

#include "ck/tensor_operation/gpu/device/device_conv_bwd_data.hpp"
#include "ck/tensor_operation/gpu/device/impl/bwd_data_of_arguments.hpp"
#include "ckgen/library/convolution_backward_data.hpp"

namespace ck::tensor_operation::device::dense_bwd_data_of_arguments {

template <index_t NDimSpatial, class In, class Wei, class Out>
using Interface =
    DeviceConvBwdData<NDimSpatial, typename DenseLayout<NDimSpatial>::In, typename DenseLayout<NDimSpatial>::Wei,
                      typename DenseLayout<NDimSpatial>::Out, In, Wei, Out, element_wise::PassThrough,
                      element_wise::PassThrough, element_wise::PassThrough>;

template <class DenseInterface, class Config, class Family>
struct Make {
    using Dense = ConvBwdDataOfGrouped<typename Config::Layout, typename Config::DataType>;
    using Grouped = bwd_data_of_arguments::Make<typename Dense::Grouped, Config, Family>;
    static constexpr int unit = Grouped::unit;
    static std::unique_ptr<DenseInterface> make() { return std::make_unique<Dense>(Grouped::make()); }
};

// The operator of types (of_arguments::Types), functions, a tile (of_arguments::Tile) and the family of the kernel.
template <index_t NDimSpatial, class Types, class InOp, class WeiOp, class OutOp, class Tile,
          class Family = instances::BwdDataXdl>
struct DenseBwdData
    : of_arguments::Operator<Interface<NDimSpatial, typename Types::In, typename Types::Wei, typename Types::Out>,
                             Make<Interface<NDimSpatial, typename Types::In, typename Types::Wei, typename Types::Out>,
                                  bwd_data_of_arguments::Config<
                                      typename instance::GroupedLayoutOfDense<NDimSpatial>::type,
                                      typename Types::DataType, Tuple<>, Tuple<>, element_wise::PassThrough, Tile>,
                                  Family>> {
    static_assert(std::is_same_v<InOp, element_wise::PassThrough> && std::is_same_v<WeiOp, element_wise::PassThrough> &&
                      std::is_same_v<OutOp, element_wise::PassThrough>,
                  "ckgen's dense backward data takes no element-wise functions but PassThrough");

    using Base = typename DenseBwdData::Operator;
    using Spatial = std::vector<index_t>;

    std::unique_ptr<BaseArgument> MakeArgumentPointer(void* p_in, const void* p_wei, const void* p_out, index_t N,
                                                      index_t K, index_t C, Spatial input, Spatial filter,
                                                      Spatial output, Spatial strides, Spatial dilations,
                                                      Spatial left_pads, Spatial right_pads, InOp in_op, WeiOp wei_op,
                                                      OutOp out_op) override {
        return Base::planned().MakeArgumentPointer(p_in, p_wei, p_out, N, K, C, input, filter, output, strides,
                                                   dilations, left_pads, right_pads, in_op, wei_op, out_op);
    }
};

}  // namespace ck::tensor_operation::device::dense_bwd_data_of_arguments
