// The common base of CK's class templates of grouped convolution backward weight: an operator over a kernel of ckgen.
#pragma once

#include "ck/tensor_operation/gpu/device/convolution_backward_weight_specialization.hpp"
#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_weight.hpp"
#include "ck/tensor_operation/gpu/device/impl/operator_of_arguments.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ckgen/op/impl/bwd_weight_mfma.hpp"
#include "ckgen/op/impl/bwd_weight_wmma.hpp"

namespace ck::tensor_operation::device {

namespace bwd_weight_of_arguments {
using Spec = ConvolutionBackwardWeightSpecialization;

// Filter1x1Pad0 and OddC restrict the problems that a kernel of Default takes. SplitK: false for classes of CK that
// refuse any split_k but 1.
template <Spec Specialization, bool SplitK = true>
struct Limits {
    // -1 leaves the choice to the library.
    static index_t split_k(index_t given) { return !SplitK && given == -1 ? 1 : given; }
#if CKGEN_DEVICE_PASS
    static std::string reason(const BaseArgument*) { return {}; }
#else
    static std::string reason(const BaseArgument* argument) {
        const auto* given = dynamic_cast<const PlannedArgument<device::BwdWeight>*>(argument);
        if(given == nullptr)
            return {};
        if(!SplitK && given->k_batch_ != 1)
            return "[split-k] CK's class has no split_k but 1";
        const conv::Problem& p = given->problem;
        if(Specialization == Spec::OddC && p.in.lengths[2] % 2 == 0)
            return "[conv-spec] OddC needs an odd number of input channels";
        for(int d = 0; Specialization == Spec::Filter1x1Pad0 && d < p.ndim; ++d)
            if(p.wei.lengths[3 + d] != 1 || p.left_pads[d] != 0 || p.right_pads[d] != 0)
                return "[conv-spec] Filter1x1Pad0 needs filter 1 and pad 0 in every dimension";
        return {};
    }
#endif
};

template <class LayoutTriple, class DataTypes, class Tile>
struct Config : Tile {
    static constexpr const char* name = "DeviceGroupedConvBwdWeight";
    using Layout = LayoutTriple;
    using DataType = DataTypes;
};

template <class LayoutTriple, class Types, class InOp, class WeiOp, class OutOp>
using InterfaceOf =
    DeviceGroupedConvBwdWeight<LayoutTriple::ndim, typename LayoutTriple::In, typename LayoutTriple::Wei,
                               typename LayoutTriple::Out, typename Types::In, typename Types::Wei, typename Types::Out,
                               InOp, WeiOp, OutOp, typename Types::ComputeA, typename Types::ComputeB>;

template <class Interface, class Config, class Family>
struct Make {
    using Checked = typename Family::template Checked<Config>;
    static constexpr int unit = Checked::matrix_unit;
    static std::unique_ptr<Interface> make() {
        constexpr auto entry = &of_arguments::entry<typename Family::template Kernel<Checked>, unit>;
#if CKGEN_DEVICE_PASS
        static_cast<void>(entry());
        return nullptr;
#else
        return std::make_unique<PlannedBwdWeightOperator<Checked, Family, entry, nullptr>>();
#endif
    }
};

// The operator of a layout, types (of_arguments::Types), functions, a tile (of_arguments::Tile), Limits and the family
// of the kernel.
template <class LayoutTriple, class Types, class InOp, class WeiOp, class OutOp, class Tile, class Restriction,
          class Family = instances::BwdWeightXdl>
struct BwdWeight : of_arguments::Operator<InterfaceOf<LayoutTriple, Types, InOp, WeiOp, OutOp>,
                                          Make<InterfaceOf<LayoutTriple, Types, InOp, WeiOp, OutOp>,
                                               Config<LayoutTriple, typename Types::DataType, Tile>, Family>,
                                          Restriction> {
    static_assert(std::is_same_v<InOp, element_wise::PassThrough> && std::is_same_v<WeiOp, element_wise::PassThrough> &&
                      std::is_same_v<OutOp, element_wise::PassThrough>,
                  "ckgen's backward weight takes no element-wise functions but PassThrough");

    using Base = typename BwdWeight::Operator;
    using Interface = InterfaceOf<LayoutTriple, Types, InOp, WeiOp, OutOp>;
    using Lengths = typename Interface::LongLengths;
    using Spatial = typename Interface::LongSpatial;
    template <class Index>
    using LengthsOf = std::array<Index, std::tuple_size_v<Lengths>>;
    template <class Index>
    using SpatialOf = std::array<Index, std::tuple_size_v<Spatial>>;
    template <class Index = index_t>  // the default is for lists in braces
    static auto MakeArgument(const void* p_in, void* p_wei, const void* p_out, const LengthsOf<Index>& in_lengths,
                             const LengthsOf<Index>& in_strides, const LengthsOf<Index>& wei_lengths,
                             const LengthsOf<Index>& wei_strides, const LengthsOf<Index>& out_lengths,
                             const LengthsOf<Index>& out_strides, const SpatialOf<Index>& strides,
                             const SpatialOf<Index>& dilations, const SpatialOf<Index>& left_pads,
                             const SpatialOf<Index>& right_pads, InOp in_op, WeiOp wei_op, OutOp out_op,
                             index_t split_k) {
        return typename Base::Argument(Base::planned().MakeArgumentPointer(
            p_in, p_wei, p_out, in_lengths, in_strides, wei_lengths, wei_strides, out_lengths, out_strides, strides,
            dilations, left_pads, right_pads, in_op, wei_op, out_op, Restriction::split_k(split_k)));
    }

    using Interface::MakeArgumentPointer;
    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads, InOp in_op,
                                                      WeiOp wei_op, OutOp out_op, index_t split_k) override {
        return Base::planned().MakeArgumentPointer(p_in, p_wei, p_out, in_lengths, in_strides, wei_lengths, wei_strides,
                                                   out_lengths, out_strides, strides, dilations, left_pads, right_pads,
                                                   in_op, wei_op, out_op, Restriction::split_k(split_k));
    }
};

}  // namespace bwd_weight_of_arguments

}  // namespace ck::tensor_operation::device
