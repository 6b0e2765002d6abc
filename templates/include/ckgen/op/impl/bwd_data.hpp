// The operator of one instance of backward data, and the parts that its families share.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/op/element_wise_operation.hpp"
#include "ckgen/op/impl/planned_operator.hpp"

#if CKGEN_DEVICE_PASS

namespace ckgen::instances {
struct BwdDataFamily {};
}  // namespace ckgen::instances

#else

#include <cstring>
#include <type_traits>

#include "ckgen/op/bwd_data.hpp"
#include "ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp"

namespace ckgen::tensor_operation::device {

// The scalars of a function are its members.
template <class Function>
inline constexpr int scalars_of = std::is_empty_v<Function> ? 0 : sizeof(Function) / sizeof(float);

template <class Types, class Layouts>
struct DTraitsOf;
template <class... Types, class... Layouts>
struct DTraitsOf<Tuple<Types...>, Tuple<Layouts...>> {
    static std::vector<conv::DTensorTraits> list() {
        return {{Layouts::name, static_cast<int>(sizeof(Types)), layout::channels_last<Layouts>,
                 layout::one_a_channel<Layouts>}...};
    }
};

template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
class PlannedBwdDataOperator final : public PlannedOperator<D, Family, Entry, ReduceEntry> {
    using Base = PlannedOperator<D, Family, Entry, ReduceEntry>;
    using PassThrough = element_wise::PassThrough;
    using Function = typename D::Function;
    using Lengths = typename Base::LongLengths;
    using Spatial = typename Base::LongSpatial;
    static_assert(std::is_trivially_copyable_v<Function>, "a function's members are its scalars");
    static constexpr int scalars = scalars_of<Function>;

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
        conv::Fusion fusion;
        for(std::size_t i = 0; i < p_ds.size(); ++i)
            fusion.d.push_back({p_ds[i], Base::tensor_of(ds_lengths[i], ds_strides[i])});
        fusion.scalars.resize(scalars);
        if(scalars > 0)
            std::memcpy(fusion.scalars.data(), &function, scalars * sizeof(float));
        return make_argument(Base::kernel(), problem, fusion, p_e, const_cast<void*>(p_b), p_a);
    }
    FunctionCounts Counts() const override { return {Base::NumDTensor, scalars}; }
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
        traits.d = tensor_operation::device::DTraitsOf<typename D::DsDataType, typename D::DsLayout>::list();
        traits.scalars = tensor_operation::device::scalars_of<typename D::Function>;
        return traits;
    }
    // The plan with the function and its D tensors.
    template <class D>
    static typename D::KernelArgs problem(const Launch& launch) {
        typename D::KernelArgs args{};
        static_cast<conv::BwdDataArgs&>(args) = launch.args;
        args.function = typename D::Function{};
        const std::vector<float>& scalars = launch.fusion.scalars;
        if(!scalars.empty())
            std::memcpy(static_cast<void*>(&args.function), scalars.data(), scalars.size() * sizeof(float));
        for(std::size_t i = 0; i < launch.plan.d.size(); ++i)
            args.d[i] = launch.plan.d[i];
        return args;
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
