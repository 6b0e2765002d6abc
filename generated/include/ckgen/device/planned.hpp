// Copied by ckgen from templates/include/ckgen/device/planned.hpp. Do not edit; run: ckgen generate
// Arguments of every operation: checked and planned when they are made; asking for support, the workspace's size and
// running only look that up. For an operation there are a Kernel with its `entry`, an Argument with the name of its
// `operation`, and make_plan(kernel, argument), which makes a plan anew.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "ckgen/device/runner.hpp"

namespace ckgen::tensor_operation::device {

template <class Plan_>
struct PlannedArgument : BaseArgument, ArgumentSplitK {
    using Plan = Plan_;
    conv::Problem problem;
    Plan plan;
    platform::KernelEntry planned_for = nullptr;  // the kernel that the plan is for
};

template <class Argument>
std::string foreign_reason() {
    return std::string("[argument] not an argument of ") + Argument::operation;
}

// Throws std::invalid_argument for another operation's.
template <class Argument>
const Argument& argument_of(const BaseArgument* argument) {
    const auto* mine = dynamic_cast<const Argument*>(argument);
    if(mine == nullptr)
        throw std::invalid_argument(foreign_reason<Argument>());
    return *mine;
}

template <class Kernel, class Argument>
std::unique_ptr<Argument> planned(const Kernel& kernel, std::unique_ptr<Argument> argument) {
    argument->plan = make_plan(kernel, *argument);
    argument->planned_for = kernel.entry;
    argument->k_batch_ = argument->plan.split_k;
    return argument;
}

// The argument's plan; where the argument was made for another kernel, one for this kernel, kept in `own`.
template <class Kernel, class Argument>
const typename Argument::Plan& plan_of(const Kernel& kernel, const Argument& a, typename Argument::Plan& own) {
    if(a.planned_for == kernel.entry)
        return a.plan;
    own = make_plan(kernel, a);
    return own;
}

// Everything but the device, the pointers' presence and the workspace, which Run checks.
template <class Argument, class Kernel>
std::string unsupported_reason(const Kernel& kernel, const BaseArgument* argument) {
    const auto* a = dynamic_cast<const Argument*>(argument);
    if(a == nullptr)
        return foreign_reason<Argument>();
    typename Argument::Plan own;
    return plan_of(kernel, *a, own).reason;
}

template <class Argument>
std::string tensors_reason(const Argument& a) {
    if(a.p_in == nullptr || a.p_wei == nullptr || a.p_out == nullptr)
        return "[null-pointer] input, weight and output must be given to run";
    return {};
}

// `need`: what stands between split_k and the number of bytes.
inline std::string workspace_reason(const BaseArgument& a, int64 bytes, int split_k, const char* need) {
    if(bytes > 0 && a.p_workspace_ == nullptr)
        return "[workspace] split_k " + std::to_string(split_k) + need + std::to_string(bytes) +
               " bytes of workspace; call SetWorkSpacePointer";
    if(bytes > 0 && reinterpret_cast<std::uintptr_t>(a.p_workspace_) % 16 != 0)
        return "[workspace] the address of the workspace is not a multiple of 16";
    return {};
}

// Milliseconds as BaseInvoker::Run has them. `reason_of(plan, argument)`: why it cannot run, or nothing.
// `work_of(plan, argument)` gives what launches it once.
template <class Argument, class Kernel, class ReasonOf, class WorkOf>
float run_planned(const Kernel& kernel, const BaseArgument* argument, const StreamConfig& config,
                  const ReasonOf& reason_of, const WorkOf& work_of) {
    const auto& a = argument_of<Argument>(argument);
    typename Argument::Plan own;
    const auto& plan = plan_of(kernel, a, own);
    const std::string reason = reason_of(plan, a);
    if(!reason.empty())
        throw std::invalid_argument(reason);
    const auto once = work_of(plan, a);
    if(config.time_kernel_)
        return platform::time_milliseconds(config.stream_id_, config.cold_niters_, config.nrepeat_, once);
    once();
    return 0.f;
}

}  // namespace ckgen::tensor_operation::device
