// The host side of every operation: making an argument checks and plans the problem; support, workspace and run use the
// plan. Operation: BwdWeight or BwdData, which have `name`, `words`, Traits and Plan. The functions are defined in
// planned.cpp for these two.
#pragma once

#include <memory>

#include "ckgen/op/runner.hpp"

namespace ckgen::tensor_operation::device {

template <class Operation>
struct PlannedArgument : BaseArgument, ArgumentSplitK {
    conv::Problem problem;
    conv::Fusion fusion;
    void* p_in = nullptr;
    void* p_wei = nullptr;
    const void* p_out = nullptr;
    typename Operation::Plan plan;
    platform::KernelEntry planned_for = nullptr;  // the kernel that the plan is for
};

// A plan with its pointers: what a kernel's argument is made of.
template <class Operation>
struct PlannedLaunch {
    typename Operation::Plan::Args args;
    const typename Operation::Plan& plan;
    const conv::Fusion& fusion;
};

// The parts of an instance that planning and launching need, as values.
template <class Operation>
struct PlannedKernel {
    using Launch = PlannedLaunch<Operation>;
    using Memory = std::vector<Touched>;

    typename Operation::Traits traits;
    platform::KernelEntry entry;
    int lds_bytes;
    void (*launch)(uint32 blocks, const Launch&, const Memory&, platform::Stream);
    std::string (*map_reason)(uint32 blocks, const Launch&);  // why its tensor maps are refused, or nothing
    // Adds up f32 partials in a second kernel and writes the result; persistent kernels do that themselves.
    void (*reduce)(const Launch&, const Memory&, platform::Stream);
    std::vector<char> (*argument)(const Launch&);  // the main kernel's, as bytes
};

// The argument with its plan. Pointers may be null: memory that is not allocated yet.
template <class Operation>
std::unique_ptr<PlannedArgument<Operation>> make_argument(const PlannedKernel<Operation>&, const conv::Problem&,
                                                          const conv::Fusion&, void* p_in, void* p_wei,
                                                          const void* p_out);

// Those that follow plan anew where the argument was made for another kernel, and but for unsupported_reason throw
// std::invalid_argument for an argument of another operation.

// Everything but the device, the pointers' presence and the workspace, which a run checks.
template <class Operation>
std::string unsupported_reason(const PlannedKernel<Operation>&, const BaseArgument*);
template <class Operation>
std::size_t workspace_size(const PlannedKernel<Operation>&, const BaseArgument*);
// What a run launches.
template <class Operation>
LaunchPlan plan_launch(const PlannedKernel<Operation>&, const BaseArgument*);
// Milliseconds as BaseInvoker::Run has them.
template <class Operation>
float run_planned(const PlannedKernel<Operation>&, const BaseArgument*, const StreamConfig&);

}  // namespace ckgen::tensor_operation::device
