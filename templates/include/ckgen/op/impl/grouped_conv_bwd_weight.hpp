// The concrete operator of one instance: binds a kernel (family) and a Config to CK's interface.
#pragma once

#include "ckgen/platform/platform.hpp"

#if !CKGEN_DEVICE_PASS

#include "ckgen/op/bwd_weight_core.hpp"
#include "ckgen/op/device_grouped_conv_bwd_weight.hpp"

namespace ckgen::tensor_operation::device {

// D: the checked Config with its derived values. Family: traits<D>(), type_fields<D>(), tensor_map_reason(), and
// for a launch arguments<Kernel>(), which encodes tensor maps, and workgroups<Kernel>(). Entry() gives what
// platform::launch takes for Kernel.
template <class D, class Family, class Kernel, platform::KernelEntry (*Entry)()>
class DeviceGroupedConvBwdWeight_Xdl_CShuffle final
    : public BwdWeightOperator<typename D::Layout, typename D::DataType>,
      public ConvRunner {
    using Interface = BwdWeightOperator<typename D::Layout, typename D::DataType>;
    using PassThrough = element_wise::PassThrough;
    using typename Interface::Lengths;
    using typename Interface::Spatial;

    static void launch(uint32 blocks, const conv::BwdWeightArgs& args, const std::vector<Touched>& touched,
                       platform::Stream stream) {
        const auto& made = Family::template arguments<Kernel>(blocks, args);
        platform::launch<Kernel>(Entry(), Family::template workgroups<Kernel>(blocks, made), made, regions_of(touched),
                                 stream);
    }
    static std::string map_reason(uint32 blocks, const conv::BwdWeightArgs& args) {
        return Family::tensor_map_reason([&] { static_cast<void>(Family::template arguments<Kernel>(blocks, args)); });
    }

    // By value: g++ merges the statics of templates across all libraries of a process, also those loaded by dlopen.
    static BwdWeightKernel kernel() {
        return {Family::template traits<D>(),     Entry(), Kernel::lds_bytes, &launch, &map_reason,
                &reduce_partials<typename D::Wei>};
    }

    struct Invoker final : BaseInvoker {
        float Run(const BaseArgument* argument, const StreamConfig& config = StreamConfig{}) override {
            return run_bwd_weight(kernel(), argument, config);
        }
    };

public:
    std::unique_ptr<BaseArgument> MakeArgumentPointer(const void* p_in, void* p_wei, const void* p_out,
                                                      const Lengths& in_lengths, const Lengths& in_strides,
                                                      const Lengths& wei_lengths, const Lengths& wei_strides,
                                                      const Lengths& out_lengths, const Lengths& out_strides,
                                                      const Spatial& strides, const Spatial& dilations,
                                                      const Spatial& left_pads, const Spatial& right_pads, PassThrough,
                                                      PassThrough, PassThrough, index_t split_k) override {
        conv::Problem problem;
        problem.ndim = D::Layout::ndim;
        problem.split_k = split_k;
        const auto copy = [](const auto& from, auto& to) {
            for(std::size_t i = 0; i < from.size(); ++i)
                to[i] = from[i];
        };
        copy(in_lengths, problem.in.lengths), copy(in_strides, problem.in.strides);
        copy(wei_lengths, problem.wei.lengths), copy(wei_strides, problem.wei.strides);
        copy(out_lengths, problem.out.lengths), copy(out_strides, problem.out.strides);
        copy(strides, problem.strides), copy(dilations, problem.dilations);
        copy(left_pads, problem.left_pads), copy(right_pads, problem.right_pads);
        return make_bwd_weight_argument(kernel(), problem, p_in, p_wei, p_out);
    }
    std::unique_ptr<BaseArgument> MakeProblemArgument(const conv::Problem& problem, const conv::Fusion&, void* p_in,
                                                      void* p_wei, const void* p_out) const override {
        return make_bwd_weight_argument(kernel(), problem, p_in, p_wei, p_out);
    }

    std::unique_ptr<BaseInvoker> MakeInvokerPointer() override { return MakeInvoker(); }
    std::unique_ptr<BaseInvoker> MakeInvoker() const override { return std::make_unique<Invoker>(); }
    const char* Operation() const override { return "grouped_conv_bwd_weight"; }
    LaunchPlan Plan(const BaseArgument& argument) const override { return plan_launch(kernel(), argument); }

    std::string GetUnsupportedReason(const BaseArgument* argument) const override {
        const std::string reason = unsupported_reason<BwdWeightArgument>(kernel(), argument);
        return reason.empty() ? devices_.of(Entry(), Kernel::lds_bytes) : reason;
    }
    std::size_t GetWorkSpaceSize(const BaseArgument* argument) const override {
        return bwd_weight_workspace_size(kernel(), argument);
    }
    std::string GetIdentity() const override { return D::name; }
    std::string GetTypeString() const override { return bwd_weight_type_string(Family::template type_fields<D>()); }

private:
    DeviceReasons devices_;
};

}  // namespace ckgen::tensor_operation::device

// The kernel's symbol is the identity with _kernel behind it. CHECKED: the template that derives and checks.
#define CKGEN_DEFINE_INSTANCE_WITH(NAME, CHECKED, FAMILY, KERNEL)                                                      \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CHECKED<NAME>>)                                                          \
    std::unique_ptr<tensor_operation::device::BwdWeightOperator<NAME::Layout, NAME::DataType>> make_##NAME() {         \
        return std::make_unique<tensor_operation::device::DeviceGroupedConvBwdWeight_Xdl_CShuffle<                     \
            CHECKED<NAME>, FAMILY, KERNEL<CHECKED<NAME>>, &entry_##NAME##_kernel>>();                                  \
    }

#else

// A device pass needs the kernel and nothing else.
#define CKGEN_DEFINE_INSTANCE_WITH(NAME, CHECKED, FAMILY, KERNEL)                                                      \
    CKGEN_DEFINE_KERNEL(NAME##_kernel, KERNEL<CHECKED<NAME>>)

#endif
