// Copied by ckgen from templates/include/ckgen/op/planned.hpp. Do not edit; run: ckgen generate
// The host side of every operation. Making an argument checks and plans the problem; support, workspace and run use the
// plan. Operation: a struct of op/operations.hpp, with the members of its record (ckgen/config/operations.hpp) and
//   Traits, Plan          what planning reads of an instance, and its result
//   make_plan(), place()  plan a problem; set the addresses in the arguments of a kernel
//   packed_output         true if kernels need the output's positions without gaps
//   extents()             the sizes that the selector counts with; its second argument exchanges input and output
//   Reference<DataType>   the CPU reference
// planned.cpp defines the functions for all of them.
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
    mutable bool size_asked = false;              // the caller knows how large the workspace must be
};

// A plan with its pointers, from which a kernel's argument is made.
template <class Operation>
struct PlannedLaunch {
    using Args = typename Operation::Plan::Args;

    Args args;
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
    std::string (*map_reason)(uint32 blocks, const Launch&);  // why its tensor maps are refused, or empty
    // Adds f32 partials in a second kernel and writes the result. Persistent kernels add them themselves.
    void (*reduce)(const Launch&, const Memory&, platform::Stream);
    std::vector<char> (*argument)(const Launch&);  // argument of the main kernel, as bytes
};

// The argument with its plan. Pointers may be null for memory that is not allocated yet.
template <class Operation>
std::unique_ptr<PlannedArgument<Operation>> make_argument(const PlannedKernel<Operation>&, const conv::Problem&,
                                                          const conv::Fusion&, void* p_in, void* p_wei,
                                                          const void* p_out);

// The following functions plan again if the argument was made for another kernel. All except unsupported_reason throw
// std::invalid_argument for an argument of another operation.

// Reason why the instance refuses the problem, or empty. A run also checks the device, null pointers and the workspace.
template <class Operation>
std::string unsupported_reason(const PlannedKernel<Operation>&, const BaseArgument*);
template <class Operation>
std::size_t workspace_size(const PlannedKernel<Operation>&, const BaseArgument*);
// The caller knows the size of the argument's workspace if the operator reported `reported` bytes for another argument
// and this one needs as many.
template <class Operation>
void know_size(const PlannedKernel<Operation>&, const BaseArgument*, std::size_t reported);
// The launches of a run.
template <class Operation>
RunPlan plan_launch(const PlannedKernel<Operation>&, const BaseArgument*);
// A run of the argument's problem with other addresses, which plans nothing again.
template <class Operation>
std::unique_ptr<PreparedRun> prepare_run(const PlannedKernel<Operation>&, const BaseArgument*);
// Milliseconds, as BaseInvoker::Run returns them.
template <class Operation>
float run_planned(const PlannedKernel<Operation>&, const BaseArgument*, const StreamConfig&);

}  // namespace ckgen::tensor_operation::device
