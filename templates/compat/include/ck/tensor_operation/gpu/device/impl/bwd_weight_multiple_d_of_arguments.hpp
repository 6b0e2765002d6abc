// The common base of CK's class templates of grouped convolution backward weight with D tensors: an operator over a
// kernel of ckgen that applies a function to the sum.
#pragma once

#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_weight_multiple_d.hpp"
#include "ck/tensor_operation/gpu/device/impl/bwd_weight_of_arguments.hpp"
#include "ckgen/op/bwd_weight_operand_ops.hpp"

namespace ck::tensor_operation::device {

namespace bwd_weight_of_arguments {

// The function of the sum: without operations of the operands CK's own, else one that has their factors too.
template <class InOp, class WeiOp, class OutOp>
struct FunctionOf {
    static_assert(kHasOperandOps<InOp, WeiOp, OutOp>,
                  "ckgen applies PassThrough, UnaryConvert or Scale to the input and the output's gradient, and then to"
                  " the sum a function that takes a factor, such as PassThrough, Scale or Bilinear");
    static constexpr bool wrapped = true;
    using type = decltype(of_scaled_sum(WeiOp{}, 1.f));
};
template <class WeiOp>
struct FunctionOf<element_wise::PassThrough, WeiOp, element_wise::PassThrough> {
    static constexpr bool wrapped = false;
    using type = WeiOp;
};

template <class LayoutTriple, class DataTypes, class Ds, class DTypes, class SumFunction, class Tile>
struct FusedConfig : Config<LayoutTriple, DataTypes, Tile> {
    static constexpr const char* name = "DeviceGroupedConvBwdWeightMultipleD";
    using Function = SumFunction;
    using DsLayout = Ds;
    using DsDataType = DTypes;
};

template <class LayoutTriple, class DsLayout, class Types, class DsData, class InOp, class WeiOp, class OutOp>
using FusedInterfaceOf =
    DeviceGroupedConvBwdWeightMultipleD<LayoutTriple::ndim, typename LayoutTriple::In, typename LayoutTriple::Wei,
                                        typename LayoutTriple::Out, DsLayout, typename Types::In, typename Types::Wei,
                                        typename Types::Out, DsData, InOp, WeiOp, OutOp, typename Types::ComputeA,
                                        typename Types::ComputeB>;

// Wrapped: the kernel's operator has no operations of the operands, the interface has.
template <class Interface, class Config, class Family, bool Wrapped>
struct MakeFused {
    using Checked = typename Family::template Checked<Config>;
    static constexpr int unit = Checked::matrix_unit;
    static std::unique_ptr<Interface> make() {
        constexpr auto entry = &of_arguments::entry<typename Family::template Kernel<Checked>, unit>;
        constexpr auto reduction = &of_arguments::entry<typename Family::template Reduction<Checked>>;
#if CKGEN_DEVICE_PASS
        static_cast<void>(entry());
        static_cast<void>(reduction());
        return nullptr;
#else
        auto made = std::make_unique<PlannedBwdWeightMultipleDOperator<Checked, Family, entry, reduction>>();
        if constexpr(Wrapped)
            return std::make_unique<BwdWeightOperandOps<Interface>>(std::move(made));
        else
            return made;
#endif
    }
};

// D tensors have the weight's layout, or one value per channel.
template <class Wei, class Ds>
inline constexpr bool kHasDLayouts = false;
template <class Wei, class... Ds>
inline constexpr bool kHasDLayouts<Wei, Tuple<Ds...>> =
    ((std::is_same_v<Ds, Wei> || std::is_same_v<Ds, tensor_layout::convolution::GC> ||
      std::is_same_v<Ds, tensor_layout::convolution::G_C>) &&
     ...);

// The operator of a layout, D tensors, types (of_arguments::Types), functions, a tile (of_arguments::Tile), Limits and
// the family of the kernel.
template <class LayoutTriple, class DsLayout, class Types, class DsData, class InOp, class WeiOp, class OutOp,
          class Tile, class Restriction, class Family = instances::BwdWeightXdl>
struct BwdWeightMultipleD
    : of_arguments::Operator<FusedInterfaceOf<LayoutTriple, DsLayout, Types, DsData, InOp, WeiOp, OutOp>,
                             MakeFused<FusedInterfaceOf<LayoutTriple, DsLayout, Types, DsData, InOp, WeiOp, OutOp>,
                                       FusedConfig<LayoutTriple, typename Types::DataType, DsLayout, DsData,
                                                   typename FunctionOf<InOp, WeiOp, OutOp>::type, Tile>,
                                       Family, FunctionOf<InOp, WeiOp, OutOp>::wrapped>,
                             Restriction> {
    static_assert(kHasDLayouts<typename LayoutTriple::Wei, DsLayout>,
                  "a D tensor of backward weight has the layout of the weight, or one value per channel: GC or G_C");

    using Base = typename BwdWeightMultipleD::Operator;
    using Interface = FusedInterfaceOf<LayoutTriple, DsLayout, Types, DsData, InOp, WeiOp, OutOp>;
    using Lengths = typename Interface::LongLengths;
    using Spatial = typename Interface::LongSpatial;
    using PointersOfD = std::array<const void*, Interface::NumDTensor>;

    using Base::MakeArgument;
    static auto
    MakeArgument(const void* p_in, void* p_wei, const void* p_out, const PointersOfD& p_ds,
                 const typename Interface::Lengths& in_lengths, const typename Interface::Lengths& in_strides,
                 const typename Interface::Lengths& wei_lengths, const typename Interface::Lengths& wei_strides,
                 const typename Interface::Lengths& out_lengths, const typename Interface::Lengths& out_strides,
                 const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_lengths,
                 const std::array<typename Interface::Lengths, Interface::NumDTensor>& ds_strides,
                 const typename Interface::Spatial& strides, const typename Interface::Spatial& dilations,
                 const typename Interface::Spatial& left_pads, const typename Interface::Spatial& right_pads,
                 InOp in_op, WeiOp wei_op, OutOp out_op, index_t split_k) {
        return typename Base::Argument(Base::planned().MakeArgumentPointer(
            p_in, p_wei, p_out, p_ds, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides,
            ds_lengths, ds_strides, strides, dilations, left_pads, right_pads, in_op, wei_op, out_op, split_k));
    }

    using Interface::MakeArgumentPointer;
    std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out, const PointersOfD& p_ds,
                        const Lengths& in_lengths, const Lengths& in_strides, const Lengths& wei_lengths,
                        const Lengths& wei_strides, const Lengths& out_lengths, const Lengths& out_strides,
                        const std::array<Lengths, Interface::NumDTensor>& ds_lengths,
                        const std::array<Lengths, Interface::NumDTensor>& ds_strides, const Spatial& strides,
                        const Spatial& dilations, const Spatial& left_pads, const Spatial& right_pads, InOp in_op,
                        WeiOp wei_op, OutOp out_op, index_t split_k) override {
        return Base::planned().MakeArgumentPointer(
            p_in, p_wei, p_out, p_ds, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides,
            ds_lengths, ds_strides, strides, dilations, left_pads, right_pads, in_op, wei_op, out_op, split_k);
    }
};

}  // namespace bwd_weight_of_arguments

}  // namespace ck::tensor_operation::device
