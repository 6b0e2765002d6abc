// Copied by ckgen from templates/include/ckgen/op/device_conv_bwd_data.hpp. Do not edit; run: ckgen generate
// The operator interface of dense convolution backward data, with CK's template parameters, and its implementation: a
// grouped operator with one group, whose tensors have the same memory order as the dense ones.
#pragma once

#include <stdexcept>
#include <utility>
#include <vector>

#include "ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp"

namespace ckgen::tensor_operation::device {

// in = sum over output channels and taps of wei * out. Positions that no tap reaches are written as zero.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class InElementwiseOperation, class WeiElementwiseOperation, class OutElementwiseOperation>
struct DeviceConvBwdData : BaseOperator {
    using Spatial = std::vector<index_t>;

    // Throws std::invalid_argument if a vector does not have NDimSpatial entries.
    virtual std::unique_ptr<BaseArgument>
    MakeArgumentPointer(void* p_in, const void* p_wei, const void* p_out, index_t N, index_t K, index_t C,
                        Spatial input_spatial_lengths, Spatial filter_spatial_lengths, Spatial output_spatial_lengths,
                        Spatial conv_filter_strides, Spatial conv_filter_dilations, Spatial input_left_pads,
                        Spatial input_right_pads, InElementwiseOperation in_op, WeiElementwiseOperation wei_op,
                        OutElementwiseOperation out_op) = 0;

    virtual std::unique_ptr<BaseInvoker> MakeInvokerPointer() = 0;
};

// The dense layouts with the memory order of the grouped layouts with one group.
template <index_t NDimSpatial>
struct DenseLayout;
template <>
struct DenseLayout<1> {
    using In = tags::NWC;
    using Wei = tags::KXC;
    using Out = tags::NWK;
};
template <>
struct DenseLayout<2> {
    using In = tags::NHWC;
    using Wei = tags::KYXC;
    using Out = tags::NHWK;
};
template <>
struct DenseLayout<3> {
    using In = tags::NDHWC;
    using Wei = tags::KZYXC;
    using Out = tags::NDHWK;
};

// The interface for a number of dimensions and a data type set (ckgen::dtype).
template <index_t NDimSpatial, class DataType>
using DenseBwdDataOperator =
    DeviceConvBwdData<NDimSpatial, typename DenseLayout<NDimSpatial>::In, typename DenseLayout<NDimSpatial>::Wei,
                      typename DenseLayout<NDimSpatial>::Out, typename DataType::In, typename DataType::Wei,
                      typename DataType::Out, element_wise::PassThrough, element_wise::PassThrough,
                      element_wise::PassThrough>;

// Layout: NWGC_GKXC_NWGK and so on.
template <class Layout, class DataType>
class ConvBwdDataOfGrouped final : public DenseBwdDataOperator<Layout::ndim, DataType> {
    using Interface = DenseBwdDataOperator<Layout::ndim, DataType>;
    using PassThrough = element_wise::PassThrough;
    using typename Interface::Spatial;

public:
    using Grouped = BwdDataOperator<Layout, DataType, PassThrough, Tuple<>, Tuple<>>;
    explicit ConvBwdDataOfGrouped(std::unique_ptr<Grouped> grouped) : grouped_(std::move(grouped)) {}

    std::unique_ptr<BaseArgument> MakeArgumentPointer(void* p_in, const void* p_wei, const void* p_out, index_t N,
                                                      index_t K, index_t C, Spatial input, Spatial filter,
                                                      Spatial output, Spatial strides, Spatial dilations,
                                                      Spatial left_pads, Spatial right_pads, PassThrough in_op,
                                                      PassThrough wei_op, PassThrough out_op) override {
        const Described in(N, C, input), wei(K, C, filter), out(N, K, output);
        return grouped_->MakeArgumentPointer(p_out, p_wei, {}, p_in, out.lengths, out.strides, wei.lengths, wei.strides,
                                             {}, {}, in.lengths, in.strides, array_of(strides), array_of(dilations),
                                             array_of(left_pads), array_of(right_pads), out_op, wei_op, in_op);
    }
    std::unique_ptr<BaseInvoker> MakeInvokerPointer() override { return grouped_->MakeInvokerPointer(); }

    std::string GetUnsupportedReason(const BaseArgument* argument) const override {
        return grouped_->GetUnsupportedReason(argument);
    }
    std::string GetTypeString() const override { return grouped_->GetTypeString(); }
    std::string GetIdentity() const override { return grouped_->GetIdentity(); }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        return grouped_->GetWorkSpaceSize(argument);
    }
    void SetWorkSpacePointer(BaseArgument* argument, void* workspace,
                             const StreamConfig& config = StreamConfig{}) const override {
        grouped_->SetWorkSpacePointer(argument, workspace, config);
    }

    // The operator that does the work.
    const Grouped& GetGrouped() const { return *grouped_; }

private:
    using Lengths = typename Grouped::LongLengths;
    using Array = typename Grouped::LongSpatial;

    static Array array_of(const Spatial& values) {
        if(values.size() != static_cast<std::size_t>(Layout::ndim))
            throw std::invalid_argument("[ndim] " + std::to_string(values.size()) + " spatial values, not " +
                                        std::to_string(Layout::ndim));
        Array array{};
        for(std::size_t d = 0; d < array.size(); ++d)
            array[d] = values[d];
        return array;
    }

    // A gap-free tensor of one group: `outer` images or output channels, positions, channels.
    struct Described {
        Lengths lengths{}, strides{};

        Described(index_t outer, index_t channels, const Spatial& positions) {
            const Array inner = array_of(positions);
            lengths = {1, outer, channels};
            strides[2] = 1;
            long_index_t step = channels;
            for(std::size_t d = inner.size(); d-- > 0;) {
                lengths[3 + d] = inner[d];
                strides[3 + d] = step;
                step *= inner[d];
            }
            strides[1] = step;
            strides[0] = Layout::groups_outermost ? step * outer : channels;
        }
    };

    std::unique_ptr<Grouped> grouped_;
};

}  // namespace ckgen::tensor_operation::device
