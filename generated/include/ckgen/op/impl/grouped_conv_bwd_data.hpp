// Copied by ckgen from templates/include/ckgen/op/impl/grouped_conv_bwd_data.hpp. Do not edit; run: ckgen generate
// The concrete operator of one instance of backward data: binds a kernel (family) and a Config to CK's interface.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/epilogue/bwd_data_reduce.hpp"
#include "ckgen/pipeline/bwd_data_parts.hpp"

#if CKGEN_DEVICE_PASS
#include "ckgen/op/element_wise_operation.hpp"

// A device pass needs the kernels and nothing else.
#define CKGEN_DEFINE_DATA_INSTANCE(NAME, KERNEL)                                                                       \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CheckedData<NAME>>)                                                      \
    CKGEN_DEFINE_KERNEL(NAME##_reduce_kernel, epilogue::BwdDataReduceKernel<CheckedData<NAME>>)
#define CKGEN_DEFINE_DATA_INSTANCE_WITH(NAME, CHECKED, FAMILY, KERNEL)                                                 \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CHECKED<NAME>>)

#else

#include <cstring>
#include <type_traits>

#include "ckgen/op/bwd_data_core.hpp"
#include "ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp"

namespace ckgen::tensor_operation::device {

// A function's scalars are its members.
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

// The traits that follow from an instance in the same way for every family.
template <class D>
conv::BwdDataTraits common_data_traits() {
    conv::BwdDataTraits traits{};
    traits.ndim = D::Layout::ndim;
    traits.groups_outermost = D::Layout::groups_outermost;
    traits.channels_last = layout::channels_last<typename D::Layout::In>;
    traits.conv_spec = D::conv_spec;
    traits.m_per_block = D::m_per_block;
    traits.n_per_block = D::n_per_block;
    traits.k_per_block = D::k_per_block;
    traits.k1 = 16 / D::elem_bytes;
    traits.tiles_per_half = 1;
    traits.a_vector = D::a_vector;
    traits.b_vector = D::b_vector;
    traits.c_vector = D::c_vector;
    traits.elem_bytes = D::elem_bytes;
    traits.in_bytes = D::c_bytes;
    traits.launch_threads = D::launch_threads;
    traits.truncates = conv::kTruncates && D::elem_bytes == 2;
    traits.d = DTraitsOf<typename D::DsDataType, typename D::DsLayout>::list();
    traits.scalars = scalars_of<typename D::Function>;
    return traits;
}

// Families xdl and wavelet, whose partials a second kernel adds up.
struct MatrixDataFamily : NoTensorMaps {
    static constexpr bool second_kernel = true;

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = common_data_traits<D>();
        traits.tiles_per_half = D::load_waves > 0 ? D::stages / 2 : 1;
        return traits;
    }

    template <class D>
    static BwdDataTypeFields type_fields() {
        return {D::load_waves > 0 ? "DeviceGroupedConvBwdDataMultipleD_Xdl_WaveletModel_CShuffle"
                                  : "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1",
                D::block_size,
                D::m_per_block,
                D::n_per_block,
                D::k_per_block,
                D::k1,
                D::conv_spec,
                D::m_per_xdl,
                D::m_xdl_per_wave,
                D::n_xdl_per_wave,
                D::a_vector,
                D::b_vector};
    }

    template <class Kernel>
    static const typename Kernel::Args& arguments(uint32, const typename Kernel::Args& args,
                                                  const conv::BwdDataUnits&) {
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32 blocks, const typename Kernel::Args&) {
        return blocks;
    }
};

// D: the checked Config with its derived values. Family: traits<D>(), type_fields<D>(), tensor_map_reason(), and
// for a launch arguments<Kernel>(), which encodes tensor maps, and workgroups<Kernel>(). Entry() and ReduceEntry() give
// what platform::launch takes for Kernel and for the reduction, which is null for kernels that add up partials
// themselves.
template <class D, class Family, class Kernel, platform::KernelEntry (*Entry)(),
          platform::KernelEntry (*ReduceEntry)() = nullptr>
class DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1 final
    : public BwdDataOperator<typename D::Layout, typename D::DataType, typename D::Function, typename D::DsLayout,
                             typename D::DsDataType>,
      public ConvRunner {
    using Interface = BwdDataOperator<typename D::Layout, typename D::DataType, typename D::Function,
                                      typename D::DsLayout, typename D::DsDataType>;
    using PassThrough = element_wise::PassThrough;
    using Function = typename D::Function;
    using typename Interface::Lengths;
    using typename Interface::Spatial;
    static_assert(std::is_trivially_copyable_v<Function>, "a function's members are its scalars");
    static constexpr int scalars = scalars_of<Function>;

    static typename D::KernelArgs args_of(const BwdDataLaunch& launch) {
        typename D::KernelArgs args{};
        static_cast<conv::BwdDataArgs&>(args) = launch.args;
        args.function = Function{};
        if(!launch.scalars.empty())
            std::memcpy(static_cast<void*>(&args.function), launch.scalars.data(), scalars * sizeof(float));
        for(std::size_t i = 0; i < launch.d.size(); ++i)
            args.d[i] = launch.d[i];
        return args;
    }
    static void launch(uint32 blocks, const BwdDataLaunch& launch, const std::vector<Touched>& touched,
                       platform::Stream stream) {
        const auto args = Family::template arguments<Kernel>(blocks, args_of(launch), launch.units);
        platform::launch<Kernel>(Entry(), Family::template workgroups<Kernel>(blocks, args), args, regions_of(touched),
                                 stream);
    }
    static std::string map_reason(uint32 blocks, const BwdDataLaunch& launch) {
        return Family::tensor_map_reason(
            [&] { static_cast<void>(Family::template arguments<Kernel>(blocks, args_of(launch), launch.units)); });
    }
    static void reduce(const BwdDataLaunch& launch, const std::vector<Touched>& touched, platform::Stream stream) {
        if constexpr(Family::second_kernel) {
            using Reduce = epilogue::BwdDataReduceKernel<D>;
            const uint32 blocks = Reduce::blocks_of(launch.args);
            platform::launch<Reduce>(ReduceEntry(), blocks, args_of(launch), regions_of(touched), stream);
        }
    }
    static std::vector<char> argument(const BwdDataLaunch& launch) {
        const auto args = args_of(launch);
        const auto* bytes = reinterpret_cast<const char*>(&args);
        return {bytes, bytes + sizeof(args)};
    }

    // By value: g++ merges the statics of templates across all libraries of a process, also those loaded by dlopen.
    static BwdDataKernel kernel() {
        return {Family::template traits<D>(), Entry(), Kernel::lds_bytes, &launch, &map_reason, &reduce, &argument};
    }

    struct Invoker final : BaseInvoker {
        float Run(const BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return run_bwd_data(kernel(), argument, config);
        }
    };

    static conv::Tensor tensor_of(const Lengths& lengths, const Lengths& strides) {
        conv::Tensor tensor;
        for(std::size_t i = 0; i < lengths.size(); ++i) {
            tensor.lengths[i] = lengths[i];
            tensor.strides[i] = strides[i];
        }
        return tensor;
    }

public:
    std::unique_ptr<BaseArgument>
    MakeArgumentPointer(const void* p_a, const void* p_b, const std::array<const void*, Interface::NumDTensor>& p_ds,
                        void* p_e, const Lengths& a_lengths, const Lengths& a_strides, const Lengths& b_lengths,
                        const Lengths& b_strides, const std::array<Lengths, Interface::NumDTensor>& ds_lengths,
                        const std::array<Lengths, Interface::NumDTensor>& ds_strides, const Lengths& e_lengths,
                        const Lengths& e_strides, const Spatial& strides, const Spatial& dilations,
                        const Spatial& left_pads, const Spatial& right_pads, const PassThrough&, const PassThrough&,
                        const Function& function, index_t split_k) override {
        conv::Problem problem;
        problem.ndim = D::Layout::ndim;
        problem.split_k = split_k;
        problem.in = tensor_of(e_lengths, e_strides);
        problem.wei = tensor_of(b_lengths, b_strides);
        problem.out = tensor_of(a_lengths, a_strides);
        for(std::size_t d = 0; d < strides.size(); ++d) {
            problem.strides[d] = strides[d];
            problem.dilations[d] = dilations[d];
            problem.left_pads[d] = left_pads[d];
            problem.right_pads[d] = right_pads[d];
        }
        conv::Fusion fusion;
        for(std::size_t i = 0; i < p_ds.size(); ++i)
            fusion.d.push_back({p_ds[i], tensor_of(ds_lengths[i], ds_strides[i])});
        fusion.scalars.resize(scalars);
        if(scalars > 0)
            std::memcpy(fusion.scalars.data(), &function, scalars * sizeof(float));
        return make_bwd_data_argument(kernel(), problem, fusion, p_e, p_b, p_a);
    }
    std::unique_ptr<BaseArgument> MakeProblemArgument(const conv::Problem& problem, const conv::Fusion& fusion,
                                                      void* p_in, void* p_wei, const void* p_out) const override {
        return make_bwd_data_argument(kernel(), problem, fusion, p_in, p_wei, p_out);
    }

    std::unique_ptr<BaseInvoker> MakeInvokerPointer() override { return MakeInvoker(); }
    std::unique_ptr<BaseInvoker> MakeInvoker() const override { return std::make_unique<Invoker>(); }
    const char* Operation() const override { return "grouped_conv_bwd_data"; }
    FunctionCounts Counts() const override { return {Interface::NumDTensor, scalars}; }
    LaunchPlan Plan(const BaseArgument& argument) const override { return plan_launch(kernel(), argument); }

    std::string GetUnsupportedReason(const BaseArgument* argument) const override {
        const std::string reason = unsupported_reason<BwdDataArgument>(kernel(), argument);
        return reason.empty() ? devices_.of(Entry(), Kernel::lds_bytes) : reason;
    }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        return bwd_data_workspace_size(kernel(), argument);
    }
    std::string GetIdentity() const override { return D::name; }
    std::string GetTypeString() const override { return bwd_data_type_string(Family::template type_fields<D>()); }

private:
    DeviceReasons devices_;
};

}  // namespace ckgen::tensor_operation::device

// The kernels' symbols are the identity with _kernel and _reduce_kernel behind it.
#define CKGEN_DEFINE_DATA_INSTANCE(NAME, KERNEL)                                                                       \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CheckedData<NAME>>)                                                      \
    CKGEN_DEFINE_KERNEL(NAME##_reduce_kernel, epilogue::BwdDataReduceKernel<CheckedData<NAME>>)                        \
    CKGEN_MAKE_DATA_INSTANCE(NAME, CheckedData<NAME>, tensor_operation::device::MatrixDataFamily,                      \
                             KERNEL<CheckedData<NAME>>, &entry_##NAME##_kernel, &entry_##NAME##_reduce_kernel)
// Of kernels that add up partials themselves. CHECKED: the template that derives and checks.
#define CKGEN_DEFINE_DATA_INSTANCE_WITH(NAME, CHECKED, FAMILY, KERNEL)                                                 \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CHECKED<NAME>>)                                                          \
    CKGEN_MAKE_DATA_INSTANCE(NAME, CHECKED<NAME>, FAMILY, KERNEL<CHECKED<NAME>>, &entry_##NAME##_kernel)
#define CKGEN_MAKE_DATA_INSTANCE(NAME, ...)                                                                            \
    std::unique_ptr<tensor_operation::device::BwdDataOperator<NAME::Layout, NAME::DataType, NAME::Function,            \
                                                              NAME::DsLayout, NAME::DsDataType>>                       \
    make_##NAME() {                                                                                                    \
        return std::make_unique<                                                                                       \
            tensor_operation::device::DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<__VA_ARGS__>>();               \
    }

#endif
