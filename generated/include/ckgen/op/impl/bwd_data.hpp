// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data.hpp. Do not edit; run: ckgen generate
// The operator of one instance of backward data, and the parts that its families share.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/config/optional_keys.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/op/impl/planned_operator.hpp"

#if CKGEN_DEVICE_PASS

namespace ckgen::instances {
struct BwdDataFamily {};
}  // namespace ckgen::instances

#else

#include "ckgen/op/bwd_data.hpp"
#include "ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp"
#include "ckgen/op/impl/fused.hpp"

namespace ckgen::tensor_operation::device {

template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
class PlannedBwdDataOperator final : public PlannedOperator<D, Family, Entry, ReduceEntry> {
    using Base = PlannedOperator<D, Family, Entry, ReduceEntry>;
    using PassThrough = element_wise::PassThrough;
    using Function = typename D::Function;
    using Lengths = typename Base::LongLengths;
    using Spatial = typename Base::LongSpatial;

public:
    using Base::MakeArgumentPointer;
    std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_a, const void* p_b, const std::array<const void*, Base::NumDTensor>& p_ds,
                        void* p_e, const Lengths& a_lengths, const Lengths& a_strides, const Lengths& b_lengths,
                        const Lengths& b_strides, const std::array<Lengths, Base::NumDTensor>& ds_lengths,
                        const std::array<Lengths, Base::NumDTensor>& ds_strides, const Lengths& e_lengths,
                        const Lengths& e_strides, const Spatial& strides, const Spatial& dilations,
                        const Spatial& left_pads, const Spatial& right_pads, const PassThrough&, const PassThrough&,
                        const Function& function, index_t split_k) override {
        const conv::Problem problem =
            Base::problem_of(Base::tensor_of(e_lengths, e_strides), Base::tensor_of(b_lengths, b_strides),
                             Base::tensor_of(a_lengths, a_strides), strides, dilations, left_pads, right_pads, split_k);
        const conv::Fusion fusion =
            fusion_of(function, p_ds, ds_lengths, ds_strides,
                      [](const Lengths& lengths, const Lengths& own) { return Base::tensor_of(lengths, own); });
        return make_argument(Base::kernel(), problem, fusion, p_e, const_cast<void*>(p_b), p_a);
    }
    FunctionCounts Counts() const override { return {Base::NumDTensor, scalars_of<Function>}; }
};

}  // namespace ckgen::tensor_operation::device

namespace ckgen::instances {

struct BwdDataFamily {
    using Operation = tensor_operation::device::BwdData;
    template <class Config>
    using Interface = tensor_operation::device::BwdDataOperator<typename Config::Layout, typename Config::DataType,
                                                                typename Config::Function, typename Config::DsLayout,
                                                                typename Config::DsDataType>;
    template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
    using Operator = tensor_operation::device::PlannedBwdDataOperator<D, Family, Entry, ReduceEntry>;
    using Launch = tensor_operation::device::PlannedLaunch<Operation>;

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits{};
        static_cast<conv::InstanceTraits&>(traits) = conv::common_traits<D, Operation>();
        if constexpr(kMergesGroups<D>)
            traits.groups_to_merge = D::groups_to_merge;
        tensor_operation::device::set_function_traits<D>(traits);
        traits.row_vector = D::row_vector;
        traits.copies_weight = D::copies_weight;
        traits.one_tap_tiles = D::one_tap_tiles;
        return traits;
    }
    template <class D>
    static typename D::KernelArgs problem(const Launch& launch) {
        return tensor_operation::device::fused_args<D>(launch);
    }

    template <class D>
    static std::nullptr_t reduction() {
        return nullptr;
    }

    template <class D, class Numbers>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(
            std::string("DeviceGroupedConvBwdDataMultipleD") + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block, Numbers::ak1, Numbers::bk1}, D::conv_spec,
            {D::m_per_xdl, D::m_per_xdl, Numbers::m_xdl_per_wave, Numbers::n_xdl_per_wave, D::a_vector, D::b_vector, 1,
             1});
    }
};

}  // namespace ckgen::instances

#endif
