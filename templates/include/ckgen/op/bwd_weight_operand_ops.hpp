// Operators of backward weight with element-wise operations of the input and of the output's gradient. A factor of an
// operand is a factor of every sum, so the wrapped operator's function applies it to the sum, in f32 and once; operands
// are not rounded a second time. A conversion changes nothing: kernels multiply the values as they are.
#pragma once

#include <utility>

#include "ckgen/op/device_grouped_conv_bwd_weight.hpp"
#include "ckgen/op/device_grouped_conv_bwd_weight_multiple_d.hpp"

namespace ckgen::tensor_operation::device {

inline float factor_of(const element_wise::PassThrough&) { return 1.f; }
inline float factor_of(const element_wise::UnaryConvert&) { return 1.f; }
inline float factor_of(const element_wise::Scale& scale) { return scale.scale_; }

// Functions of factor * e. PassThrough becomes Scale.
inline element_wise::Scale of_scaled_sum(const element_wise::PassThrough&, float factor) { return {factor}; }
inline element_wise::Scale of_scaled_sum(const element_wise::Scale& f, float factor) { return {f.scale_ * factor}; }
inline element_wise::Bilinear of_scaled_sum(const element_wise::Bilinear& f, float factor) {
    return {f.alpha_ * factor, f.beta_};
}
inline element_wise::ScaleAdd of_scaled_sum(const element_wise::ScaleAdd& f, float factor) {
    return {f.scale_ * factor};
}
inline element_wise::ConvScale of_scaled_sum(const element_wise::ConvScale& f, float factor) {
    return {f.scale_in_ * factor, f.scale_wei_, f.scale_out_};
}

// False for operations that no instance can apply.
template <class InOp, class WeiOp, class OutOp, class = void>
inline constexpr bool kHasOperandOps = false;
template <class InOp, class WeiOp, class OutOp>
inline constexpr bool kHasOperandOps<
    InOp, WeiOp, OutOp, decltype(factor_of(InOp{}), factor_of(OutOp{}), of_scaled_sum(WeiOp{}, 1.f), void())> = true;

// An operator that is wrapped in another interface.
template <class Interface, class Inner>
class WrappedOperator : public Interface {
public:
    explicit WrappedOperator(std::unique_ptr<Inner> inner) : inner_(std::move(inner)) {}

    std::unique_ptr<BaseInvoker> MakeInvokerPointer() override { return inner_->MakeInvokerPointer(); }
    std::string GetUnsupportedReason(const BaseArgument* argument) const override {
        return inner_->GetUnsupportedReason(argument);
    }
    std::string GetTypeString() const override { return inner_->GetTypeString(); }
    std::string GetIdentity() const override { return inner_->GetIdentity(); }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        return inner_->GetWorkSpaceSize(argument);
    }
    void SetWorkSpacePointer(BaseArgument* argument, void* workspace,
                             const StreamConfig& config = StreamConfig{}) const override {
        inner_->SetWorkSpacePointer(argument, workspace, config);
    }

protected:
    std::unique_ptr<Inner> inner_;
};

template <class Interface>
class BwdWeightOperandOps;

// With D tensors: operations of the operands only.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class DsDataType, class InOp, class WeiOp, class OutOp,
          class ComputeTypeA, class ComputeTypeB>
class BwdWeightOperandOps<
    DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType, WeiDataType,
                                        OutDataType, DsDataType, InOp, WeiOp, OutOp, ComputeTypeA, ComputeTypeB>>
    final : public WrappedOperator<
                DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType,
                                                    WeiDataType, OutDataType, DsDataType, InOp, WeiOp, OutOp,
                                                    ComputeTypeA, ComputeTypeB>,
                DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType,
                                                    WeiDataType, OutDataType, DsDataType, element_wise::PassThrough,
                                                    decltype(of_scaled_sum(WeiOp{}, 1.f)), element_wise::PassThrough,
                                                    ComputeTypeA, ComputeTypeB>> {
public:
    using Inner = DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType,
                                                      WeiDataType, OutDataType, DsDataType, element_wise::PassThrough,
                                                      decltype(of_scaled_sum(WeiOp{}, 1.f)), element_wise::PassThrough,
                                                      ComputeTypeA, ComputeTypeB>;
    using Lengths = typename Inner::LongLengths;
    using Spatial = typename Inner::LongSpatial;
    using WrappedOperator<DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout,
                                                              InDataType, WeiDataType, OutDataType, DsDataType, InOp,
                                                              WeiOp, OutOp, ComputeTypeA, ComputeTypeB>,
                          Inner>::WrappedOperator;
    using DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType,
                                              WeiDataType, OutDataType, DsDataType, InOp, WeiOp, OutOp, ComputeTypeA,
                                              ComputeTypeB>::MakeArgumentPointer;

    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const std::array<const void*, Inner::NumDTensor>& p_ds,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const std::array<Lengths, Inner::NumDTensor>& ds_lengths,
                                                      const std::array<Lengths, Inner::NumDTensor>& ds_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads, InOp in_op,
                                                      WeiOp wei_op, OutOp out_op, index_t split_k) override {
        return this->inner_->MakeArgumentPointer(
            p_in, p_wei, p_out, p_ds, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides,
            ds_lengths, ds_strides, strides, dilations, left_pads, right_pads, {},
            of_scaled_sum(wei_op, factor_of(in_op) * factor_of(out_op)), {}, split_k);
    }
};

// Without D tensors: operations of all three.
template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class InOp, class WeiOp, class OutOp, class ComputeTypeA, class ComputeTypeB>
class BwdWeightOperandOps<
    DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType, OutDataType, InOp,
                               WeiOp, OutOp, ComputeTypeA, ComputeTypeB>>
    final : public WrappedOperator<
                DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType,
                                           OutDataType, InOp, WeiOp, OutOp, ComputeTypeA, ComputeTypeB>,
                DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, Tuple<>, InDataType,
                                                    WeiDataType, OutDataType, Tuple<>, element_wise::PassThrough,
                                                    decltype(of_scaled_sum(WeiOp{}, 1.f)), element_wise::PassThrough,
                                                    ComputeTypeA, ComputeTypeB>> {
public:
    using Interface = DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType,
                                                 OutDataType, InOp, WeiOp, OutOp, ComputeTypeA, ComputeTypeB>;
    using Inner = DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, Tuple<>, InDataType,
                                                      WeiDataType, OutDataType, Tuple<>, element_wise::PassThrough,
                                                      decltype(of_scaled_sum(WeiOp{}, 1.f)), element_wise::PassThrough,
                                                      ComputeTypeA, ComputeTypeB>;
    using Lengths = typename Inner::LongLengths;
    using Spatial = typename Inner::LongSpatial;
    using WrappedOperator<Interface, Inner>::WrappedOperator;
    using Interface::MakeArgumentPointer;

    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads, InOp in_op,
                                                      WeiOp wei_op, OutOp out_op, index_t split_k) override {
        return this->inner_->MakeArgumentPointer(
            p_in, p_wei, p_out, {}, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides, {}, {},
            strides, dilations, left_pads, right_pads, {}, of_scaled_sum(wei_op, factor_of(in_op) * factor_of(out_op)),
            {}, split_k);
    }
};

}  // namespace ckgen::tensor_operation::device
