// Copied by ckgen from templates/include/ckgen/op/planned.hpp. Do not edit; run: ckgen generate
// Arguments of every operation: checked and planned when they are made; asking for support, the workspace's size and
// running only look that up. For an operation there are a Kernel with its `entry`, an Argument with the name of its
// `operation`, and make_plan(kernel, argument), which makes a plan anew.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "ckgen/op/runner.hpp"
#include "ckgen/plan/memory_overlap.hpp"

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

// Of families whose kernels take no tensor maps: there is nothing that the driver could refuse.
struct NoTensorMaps {
    template <class Encode>
    static std::string tensor_map_reason(const Encode&) {
        return {};
    }
};

// The argument with an address for all memory that is not allocated yet: tensor maps are encoded with it, and nobody
// reads there.
template <class Argument>
Argument with_addresses(Argument argument) {
    char* const some = reinterpret_cast<char*>(std::uintptr_t{1} << 32);
    const auto place = [&](auto& pointer) {
        if(pointer == nullptr)
            pointer = some;
    };
    place(argument.p_in), place(argument.p_wei), place(argument.p_out), place(argument.p_workspace_);
    return argument;
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

// Why a run with this memory is refused, or nothing.
inline std::string memory_reason(const std::vector<conv::Placed>& tensors, const void* workspace, int64 bytes) {
    for(const conv::Placed& tensor : tensors)
        if(tensor.data == nullptr)
            return std::string("[null-pointer] the ") + tensor.name + " is not given";
    if(bytes > 0 && reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
        return "[workspace] the address of the workspace is not a multiple of 16";
    return conv::workspace_overlap_reason(workspace, bytes, tensors);
}

// A run whose caller gave no workspace, as CK's callers may: with split_k 1, and with memory of its own where even that
// needs some.
template <class Argument, class Kernel, class Run>
float run_without_workspace(const Kernel& kernel, const Argument& given, const StreamConfig& config, const Run& run) {
    Argument a = given;
    a.problem.split_k = 1;
    a.plan = make_plan(kernel, a);
    const platform::StreamMemory memory(static_cast<std::size_t>(a.plan.workspace.bytes()), config.stream_id_);
    a.p_workspace_ = memory.get();
    return run(a.plan, a);
}

// Milliseconds as BaseInvoker::Run has them. `tensors_of(argument)`: its tensors. `work_of(plan, argument)` gives what
// launches it once.
template <class Argument, class Kernel, class TensorsOf, class WorkOf>
float run_planned(const Kernel& kernel, const BaseArgument* argument, const StreamConfig& config,
                  const TensorsOf& tensors_of, const WorkOf& work_of) {
    const auto run = [&](const typename Argument::Plan& plan, const Argument& a) {
        const std::string reason =
            plan.reason.empty() ? memory_reason(tensors_of(a), a.p_workspace_, plan.workspace.bytes()) : plan.reason;
        if(!reason.empty())
            throw std::invalid_argument(reason);
        const auto once = work_of(plan, a);
        if(config.time_kernel_)
            return platform::time_milliseconds(config.stream_id_, config.cold_niters_, config.nrepeat_, once);
        once();
        return 0.f;
    };
    const auto& a = argument_of<Argument>(argument);
    typename Argument::Plan own;
    const auto& plan = plan_of(kernel, a, own);
    if(plan.reason.empty() && plan.workspace.bytes() > 0 && a.p_workspace_ == nullptr)
        return run_without_workspace(kernel, a, config, run);
    return run(plan, a);
}

}  // namespace ckgen::tensor_operation::device
