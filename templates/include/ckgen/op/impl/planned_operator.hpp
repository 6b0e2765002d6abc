// The operator of an instance, except for the parts in which CK's interfaces of the operations differ, and the
// macros that a generated instance ends with.
//
// An instance names a family: a struct in ckgen::instances that binds a kernel to an operation. Both passes use
//   Checked<Config>    the Config with its derived values, D below, after its rules are asserted
//   Kernel<D>          the kernel that platform::launch starts
//   Reduction<D>       only with CKGEN_DEFINE_INSTANCE_AND_REDUCTION: the kernel that adds f32 partials
// and host code, partly from the base of its operation and MfmaFamily or TmaFamily,
//   Operation, Interface<Config>, Operator<...>
//   traits<D>()        the Traits of the operation
//   problem<D>(launch) the plan with its pointers, as the kernel takes it
//   arguments<Kernel>(blocks, problem, plan), workgroups<Kernel>(blocks, arguments)
//                      a launch; arguments() encodes tensor maps
//   tensor_map_reason(encode)
//                      families with tensor maps: why encode() is refused
//   reduction<D>()     without Reduction: another function that adds f32 partials in a second kernel, or null
//   type_suffix, TypeNumbers<D>, type_string<D, Numbers>(suffix)
//                      CK's type string
#pragma once

#include "ckgen/platform/platform.hpp"

// The symbols of the kernels are the identity with the suffix _kernel or _reduce_kernel.
#define CKGEN_DEFINE_MAIN_KERNEL(NAME, FAMILY) CKGEN_DEFINE_KERNEL(NAME##_kernel, FAMILY::Kernel<FAMILY::Checked<NAME>>)
#define CKGEN_DEFINE_REDUCTION(NAME, FAMILY)                                                                           \
    CKGEN_DEFINE_KERNEL(NAME##_reduce_kernel, FAMILY::Reduction<FAMILY::Checked<NAME>>)

#if CKGEN_DEVICE_PASS

// A device pass needs only the kernels.
#define CKGEN_DEFINE_INSTANCE(NAME, FAMILY) CKGEN_DEFINE_MAIN_KERNEL(NAME, FAMILY)
#define CKGEN_DEFINE_INSTANCE_AND_REDUCTION(NAME, FAMILY)                                                              \
    CKGEN_DEFINE_MAIN_KERNEL(NAME, FAMILY)                                                                             \
    CKGEN_DEFINE_REDUCTION(NAME, FAMILY)

#else

#include <atomic>

#include "ckgen/op/planned.hpp"

namespace ckgen::tensor_operation::device {

// Matched by specialisation: with sanitizers, g++ does not fold a comparison of a function with nullptr.
template <platform::KernelEntry (*Entry)()>
inline constexpr bool kHasEntry = true;
template <>
inline constexpr bool kHasEntry<nullptr> = false;

// Entry() and ReduceEntry() return the arguments of platform::launch for the kernels; ReduceEntry is null without
// Reduction.
template <class D, class Family, platform::KernelEntry (*Entry)(), platform::KernelEntry (*ReduceEntry)()>
class PlannedOperator : public Family::template Interface<D>, public ConvRunner {
    using Op = typename Family::Operation;
    using Kernel = typename Family::template Kernel<D>;
    using Launch = PlannedLaunch<Op>;
    using Memory = std::vector<Touched>;

    static auto arguments(uint32 blocks, const Launch& launch) {
        return Family::template arguments<Kernel>(blocks, Family::template problem<D>(launch), launch.plan);
    }
    static void launch(uint32 blocks, const Launch& launch, const Memory& touched, platform::Stream stream) {
        const auto args = arguments(blocks, launch);
        platform::launch<Kernel>(Entry(), Family::template workgroups<Kernel>(blocks, args), args, regions_of(touched),
                                 stream);
    }
    static std::string map_reason(uint32 blocks, const Launch& launch) {
        if constexpr(Family::tensor_maps)
            return Family::tensor_map_reason([&] { static_cast<void>(arguments(blocks, launch)); });
        else
            return {};
    }
    static void reduce(const Launch& launch, const Memory& touched, platform::Stream stream) {
        using Reduction = typename Family::template Reduction<D>;
        platform::launch<Reduction>(ReduceEntry(), Reduction::blocks_of(launch.args),
                                    Family::template problem<D>(launch), regions_of(touched), stream);
    }
    static auto reduction() {
        if constexpr(kHasEntry<ReduceEntry>)
            return &reduce;
        else
            return Family::template reduction<D>();
    }
    static std::vector<char> argument(const Launch& launch) {
        const auto bytes_of = [](const auto& args) {
            const auto* bytes = reinterpret_cast<const char*>(&args);
            return std::vector<char>(bytes, bytes + sizeof(args));
        };
        if constexpr(Family::tensor_maps)
            return bytes_of(Family::template problem<D>(launch));  // maps need a GPU
        else
            return bytes_of(arguments(0, launch));
    }

    struct Invoker final : BaseInvoker {
        float Run(const BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return run_planned(kernel(), argument, config);
        }
    };

protected:
    // Returned by value, not kept in a static: g++ merges the statics of templates across all libraries of a process,
    // even those loaded by dlopen.
    static PlannedKernel<Op> kernel() {
        return {Family::template traits<D>(), Entry(), Kernel::lds_bytes, &launch, &map_reason, reduction(), &argument};
    }

    // Lengths and strides in std::array, as CK passes them.
    template <class Values>
    static conv::Tensor tensor_of(const Values& lengths, const Values& strides) {
        conv::Tensor tensor;
        for(std::size_t i = 0; i < lengths.size(); ++i) {
            tensor.lengths[i] = lengths[i];
            tensor.strides[i] = strides[i];
        }
        return tensor;
    }
    template <class Spatial>
    static conv::Problem problem_of(const conv::Tensor& in, const conv::Tensor& wei, const conv::Tensor& out,
                                    const Spatial& strides, const Spatial& dilations, const Spatial& left_pads,
                                    const Spatial& right_pads, index_t split_k) {
        conv::Problem problem;
        problem.ndim = D::Layout::ndim;
        problem.split_k = split_k;
        problem.in = in;
        problem.wei = wei;
        problem.out = out;
        for(std::size_t d = 0; d < strides.size(); ++d) {
            problem.strides[d] = strides[d];
            problem.dilations[d] = dilations[d];
            problem.left_pads[d] = left_pads[d];
            problem.right_pads[d] = right_pads[d];
        }
        return problem;
    }

public:
    std::unique_ptr<BaseArgument> MakeProblemArgument(const conv::Problem& problem, const conv::Fusion& fusion,
                                                      void* p_in, void* p_wei, const void* p_out) const override {
        return make_argument(kernel(), problem, fusion, p_in, p_wei, p_out);
    }
    std::unique_ptr<BaseInvoker> MakeInvokerPointer() override { return MakeInvoker(); }
    std::unique_ptr<BaseInvoker> MakeInvoker() const override { return std::make_unique<Invoker>(); }
    const char* Operation() const override { return Op::name; }
    std::unique_ptr<PreparedRun> Prepare(const BaseArgument& argument) const override {
        return prepare_run(kernel(), &argument);
    }
    RunPlan Plan(const BaseArgument& argument) const override { return plan_launch(kernel(), &argument); }

    std::string GetUnsupportedReason(const BaseArgument* argument) const override {
        const std::string reason = unsupported_reason(kernel(), argument);
        return reason.empty() ? devices_.of(Entry(), Kernel::lds_bytes) : reason;
    }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        const std::size_t size = workspace_size(kernel(), argument);
        reported_size_ = size;
        return size;
    }
    void SetWorkSpacePointer(BaseArgument* argument, void* workspace,
                             const StreamConfig& config = StreamConfig{}) const override {
        BaseOperator::SetWorkSpacePointer(argument, workspace, config);
        know_size(kernel(), argument, reported_size_);
    }
    std::string GetIdentity() const override { return D::name; }
    std::string GetTypeString() const override {
        return Family::template type_string<D, typename Family::template TypeNumbers<D>>(Family::type_suffix);
    }

private:
    DeviceReasons devices_;
    mutable std::atomic<std::size_t> reported_size_{0};
};

}  // namespace ckgen::tensor_operation::device

#define CKGEN_MAKE_INSTANCE(NAME, FAMILY, ...)                                                                         \
    std::unique_ptr<FAMILY::Interface<NAME>> make_##NAME() {                                                           \
        return std::make_unique<FAMILY::Operator<FAMILY::Checked<NAME>, FAMILY, __VA_ARGS__>>();                       \
    }
#define CKGEN_DEFINE_INSTANCE(NAME, FAMILY)                                                                            \
    CKGEN_DEFINE_MAIN_KERNEL(NAME, FAMILY)                                                                             \
    CKGEN_MAKE_INSTANCE(NAME, FAMILY, &entry_##NAME##_kernel, nullptr)
#define CKGEN_DEFINE_INSTANCE_AND_REDUCTION(NAME, FAMILY)                                                              \
    CKGEN_DEFINE_MAIN_KERNEL(NAME, FAMILY)                                                                             \
    CKGEN_DEFINE_REDUCTION(NAME, FAMILY)                                                                               \
    CKGEN_MAKE_INSTANCE(NAME, FAMILY, &entry_##NAME##_kernel, &entry_##NAME##_reduce_kernel)

#endif
