// The operator of one instance of backward weight, and the parts that its families share.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/epilogue/bwd_weight_reduce.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/op/impl/planned_operator.hpp"

namespace ckgen::instances {

// The kernel that both passes use in every family: it adds partial sums.
struct BwdWeightKernels {
    template <class D>
    using Reduction = epilogue::BwdWeightReduceKernel<D>;
};

}  // namespace ckgen::instances

#if CKGEN_DEVICE_PASS

namespace ckgen::instances {
struct BwdWeightFamily : BwdWeightKernels {};
}  // namespace ckgen::instances

#else

#include "ckgen/config/derived_bwd_weight.hpp"
#include "ckgen/op/bwd_weight.hpp"
#include "ckgen/op/device_grouped_conv_bwd_weight.hpp"
#include "ckgen/op/device_grouped_conv_bwd_weight_multiple_d.hpp"
#include "ckgen/op/impl/fused.hpp"

namespace ckgen::tensor_operation::device {

template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
class PlannedBwdWeightOperator final : public PlannedOperator<D, Family, Entry, ReduceEntry> {
    using Base = PlannedOperator<D, Family, Entry, ReduceEntry>;
    using PassThrough = element_wise::PassThrough;
    using Lengths = typename Base::LongLengths;
    using Spatial = typename Base::LongSpatial;

public:
    using Base::MakeArgumentPointer;
    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads, PassThrough,
                                                      PassThrough, PassThrough, index_t split_k) override {
        const conv::Problem problem = Base::problem_of(
            Base::tensor_of(in_lengths, in_strides), Base::tensor_of(wei_lengths, wei_strides),
            Base::tensor_of(out_lengths, out_strides), strides, dilations, left_pads, right_pads, split_k);
        return make_argument(Base::kernel(), problem, {}, const_cast<void*>(p_in), p_wei, p_out);
    }
};

template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
class PlannedBwdWeightMultipleDOperator final : public PlannedOperator<D, Family, Entry, ReduceEntry> {
    using Base = PlannedOperator<D, Family, Entry, ReduceEntry>;
    using PassThrough = element_wise::PassThrough;
    using Function = typename D::Function;
    using Lengths = typename Base::LongLengths;
    using Spatial = typename Base::LongSpatial;

public:
    using Base::MakeArgumentPointer;
    std::unique_ptr<BaseArgument> MakeArgumentPointer(
        const void* p_in, void* p_wei, const void* p_out, const std::array<const void*, Base::NumDTensor>& p_ds,
        const Lengths& in_lengths, const Lengths& in_strides, const Lengths& wei_lengths, const Lengths& wei_strides,
        const Lengths& out_lengths, const Lengths& out_strides, const std::array<Lengths, Base::NumDTensor>& ds_lengths,
        const std::array<Lengths, Base::NumDTensor>& ds_strides, const Spatial& strides, const Spatial& dilations,
        const Spatial& left_pads, const Spatial& right_pads, PassThrough, Function function, PassThrough,
        index_t split_k) override {
        const conv::Problem problem = Base::problem_of(
            Base::tensor_of(in_lengths, in_strides), Base::tensor_of(wei_lengths, wei_strides),
            Base::tensor_of(out_lengths, out_strides), strides, dilations, left_pads, right_pads, split_k);
        const conv::Fusion fusion =
            fusion_of(function, p_ds, ds_lengths, ds_strides,
                      [](const Lengths& lengths, const Lengths& own) { return Base::tensor_of(lengths, own); });
        return make_argument(Base::kernel(), problem, fusion, const_cast<void*>(p_in), p_wei, p_out);
    }
    FunctionCounts Counts() const override { return {Base::NumDTensor, scalars_of<Function>}; }
};

// CK has two classes: without D tensors and functions, and with them. Config: also one with derived values.
template <class Config, bool Fused = WithWeightFunction<Config>::fused>
struct BwdWeightClass {
    using Interface = BwdWeightOperator<typename Config::Layout, typename Config::DataType>;
    template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
    using Operator = PlannedBwdWeightOperator<D, Family, Entry, ReduceEntry>;
    static constexpr const char* name = "DeviceGroupedConvBwdWeight";
};
template <class Config>
struct BwdWeightClass<Config, true> {
    using Interface =
        BwdWeightMultipleDOperator<typename Config::Layout, typename Config::DataType, typename Config::Function,
                                   typename Config::DsLayout, typename Config::DsDataType>;
    template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
    using Operator = PlannedBwdWeightMultipleDOperator<D, Family, Entry, ReduceEntry>;
    static constexpr const char* name = "DeviceGroupedConvBwdWeightMultipleD";
};

}  // namespace ckgen::tensor_operation::device

namespace ckgen::instances {

struct BwdWeightFamily : BwdWeightKernels {
    using Operation = tensor_operation::device::BwdWeight;
    template <class Config>
    using Interface = typename tensor_operation::device::BwdWeightClass<Config>::Interface;
    template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
    using Operator =
        typename tensor_operation::device::BwdWeightClass<D>::template Operator<D, Family, Entry, ReduceEntry>;
    using Launch = tensor_operation::device::PlannedLaunch<Operation>;

    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits{conv::common_traits<D, Operation>()};
        if constexpr(kMergesGroups<D>)
            traits.groups_to_merge = D::groups_to_merge;
        if constexpr(kExchanges<D>) {
            traits.exchange = true;
            std::swap(traits.roles.a, traits.roles.b);
        }
        if constexpr(D::fused)
            tensor_operation::device::set_function_traits<D>(traits);
        return traits;
    }
    template <class D>
    static typename D::KernelArgs problem(const Launch& launch) {
        if constexpr(D::fused)
            return tensor_operation::device::fused_args<D>(launch);
        else
            return launch.args;
    }
    // Without a function: compiled once per weight type.
    template <class D>
    static auto reduction() {
        return +[](const Launch& launch, const std::vector<tensor_operation::device::Touched>&,
                   platform::Stream stream) {
            const conv::BwdWeightArgs& args = launch.args;
            tensor_operation::device::reduce_partials<typename D::Wei>(
                args.partial, args.wei, args.groups * args.wei_group_elements, args.split_k, stream);
        };
    }

    template <class D, class Numbers>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(
            std::string(tensor_operation::device::BwdWeightClass<D>::name) + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block / Numbers::ak1}, D::conv_spec,
            {Numbers::ak1, Numbers::m_xdl_per_wave, Numbers::n_xdl_per_wave, D::a_vector, Numbers::a_dst_vector,
             D::b_vector, Numbers::b_dst_vector, 1, 1, D::c_vector});
    }
};

}  // namespace ckgen::instances

#endif
