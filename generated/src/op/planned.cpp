// Copied by ckgen from templates/src/op/planned.cpp. Do not edit; run: ckgen generate
// Argument, support, workspace and run of every operation, shared by all instances.
#include "ckgen/op/planned.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "ckgen/op/operations.hpp"
#include "ckgen/plan/memory_overlap.hpp"

namespace ckgen::tensor_operation::device {
namespace {

template <class Operation>
conv::Addresses addresses_of(const PlannedArgument<Operation>& a) {
    return {a.p_in, a.p_wei, a.p_out};
}

// The tensor that is written, then those that are read. A D tensor that is the result itself is left out.
template <class Operation>
std::vector<conv::Placed> tensors_of(const conv::InstanceTraits& t, const PlannedArgument<Operation>& a) {
    const conv::Addresses at = addresses_of(a);
    const auto placed = [&](TensorName name, int bytes) {
        return conv::Placed{conv::word_of(name), at.of(name), a.problem.tensor(name), t.ndim, bytes};
    };
    const Roles roles = Operation::roles;
    std::vector<conv::Placed> tensors{placed(roles.c, t.written_bytes),
                                      placed(std::min(roles.a, roles.b), t.elem_bytes),
                                      placed(std::max(roles.a, roles.b), t.elem_bytes)};
    const void* const result = at.of(roles.c);
    for(std::size_t i = 0; i < t.d.size(); ++i)
        if(a.fusion.d[i].data != result || result == nullptr)
            tensors.push_back({"D tensor", a.fusion.d[i].data, a.fusion.d[i].shape, t.ndim, t.d[i].bytes});
    return tensors;
}

// The workspace may be null if the plan needs none.
template <class Operation>
PlannedLaunch<Operation> launch_of(const typename Operation::Plan& plan, const conv::Fusion& fusion, conv::Addresses at,
                                   void* memory) {
    PlannedLaunch<Operation> launch{plan.args, plan, fusion};
    auto* workspace = static_cast<char*>(memory);
    for(const TensorName name : {TensorName::in, TensorName::wei, TensorName::out})
        if(plan.workspace.of(name).bytes > 0)
            at.of(name) = workspace + plan.workspace.of(name).offset;
    Operation::place(launch.args, at);
    launch.args.partial = plan.workspace.partial_bytes > 0 ? reinterpret_cast<float*>(workspace) : nullptr;
    return launch;
}

template <class Operation>
uint32 blocks_of(const PlannedLaunch<Operation>& launch) {
    return static_cast<uint32>(conv::grid_size(launch.args));
}

// The argument with an address for all memory that is not allocated yet. Tensor maps are encoded with it, but never
// read through.
template <class Operation>
PlannedArgument<Operation> with_addresses(PlannedArgument<Operation> argument) {
    char* const some = reinterpret_cast<char*>(std::uintptr_t{1} << 32);
    const auto place = [&](auto& pointer) {
        if(pointer == nullptr)
            pointer = some;
    };
    place(argument.p_in), place(argument.p_wei), place(argument.p_out), place(argument.p_workspace_);
    return argument;
}

template <class Operation>
typename Operation::Plan make_plan(const PlannedKernel<Operation>& kernel, const PlannedArgument<Operation>& a) {
    typename Operation::Plan plan =
        Operation::make_plan(kernel.traits, a.problem, a.fusion, addresses_of(a), platform::compute_units());
    if(plan.reason.empty())
        plan.reason = conv::overlap_reason(tensors_of(kernel.traits, a));
    if(plan.reason.empty() && kernel.traits.tma) {
        const PlannedArgument<Operation> placed = with_addresses(a);
        const PlannedLaunch<Operation> launch =
            launch_of<Operation>(plan, a.fusion, addresses_of(placed), placed.p_workspace_);
        plan.reason = kernel.map_reason(blocks_of(launch), launch);
    }
    return plan;
}

template <class Operation>
std::string foreign_reason() {
    return std::string("[argument] not an argument of ") + Operation::words;
}

template <class Operation>
const PlannedArgument<Operation>& argument_of(const BaseArgument* argument) {
    const auto* mine = dynamic_cast<const PlannedArgument<Operation>*>(argument);
    if(mine == nullptr)
        throw std::invalid_argument(foreign_reason<Operation>());
    return *mine;
}

// The argument's plan. If the argument was made for another kernel, a plan for this kernel, stored in `own`.
template <class Operation>
const typename Operation::Plan& plan_of(const PlannedKernel<Operation>& kernel, const PlannedArgument<Operation>& a,
                                        typename Operation::Plan& own) {
    if(a.planned_for == kernel.entry)
        return a.plan;
    own = make_plan(kernel, a);
    return own;
}

// The reason why a run with this memory is refused, or empty.
std::string memory_reason(const std::vector<conv::Placed>& tensors, const void* workspace, int64 bytes) {
    for(const conv::Placed& tensor : tensors)
        if(tensor.data == nullptr)
            return std::string("[null-pointer] the ") + tensor.name + " is not given";
    if(bytes > 0 && reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
        return "[workspace] the address of the workspace is not a multiple of 16";
    return conv::workspace_overlap_reason(workspace, bytes, tensors);
}

// The memory that the main kernel accesses, and that of the reduction if there is one.
struct TouchedMemory {
    std::vector<Touched> main, reduction;
};

template <class Operation>
TouchedMemory touched_by(const PlannedLaunch<Operation>& launch, const std::vector<conv::Placed>& tensors,
                         const void* workspace, bool reduces) {
    const conv::Workspace& planned = launch.plan.workspace;
    const auto all_of = [](const conv::Placed& t, bool writable) {
        return Touched{t.name, t.data, span_bytes(t.shape, t.ndim, t.elem_bytes), writable};
    };
    const Touched partials{"partials", workspace, planned.partial_bytes, true};
    TouchedMemory touched{{all_of(tensors[1], false), all_of(tensors[2], false), partials}, {partials}};
    for(const TensorName tensor : {Operation::roles.a, Operation::roles.b}) {
        Touched& read = touched.main[tensor == std::min(Operation::roles.a, Operation::roles.b) ? 0 : 1];
        if(const conv::CopyPlace& copy = planned.of(tensor); copy.bytes > 0)
            read = {read.name, static_cast<const char*>(workspace) + copy.offset, copy.bytes, false};
    }
    // The kernel that writes the result reads the D tensors.
    std::vector<Touched>& writer = reduces ? touched.reduction : touched.main;
    writer.push_back(all_of(tensors[0], true));
    for(std::size_t i = 3; i < tensors.size(); ++i)
        writer.push_back(all_of(tensors[i], false));
    return touched;
}

// The arguments of a copy with its pointers.
template <class Copy>
Copy with_pointers(Copy copy, const conv::CopyPlace& place, const void* source, void* workspace) {
    copy.source = static_cast<const char*>(source);
    copy.target = static_cast<char*>(workspace) + place.offset;
    return copy;
}

// Starts the kernels of a planned and checked run.
template <class Operation>
void start(const PlannedKernel<Operation>& kernel, const typename Operation::Plan& plan, const conv::Fusion& fusion,
           const conv::Addresses& at, void* workspace, const std::vector<conv::Placed>& tensors,
           platform::Stream stream) {
    const PlannedLaunch<Operation> launch = launch_of<Operation>(plan, fusion, at, workspace);
    const bool reduces = plan.workspace.partial_bytes > 0 && !kernel.traits.persistent;
    const TouchedMemory touched = touched_by(launch, tensors, workspace, reduces);
    if(plan.workspace.wei.bytes > 0) {
        const conv::WeightCopyArgs copy = with_pointers(plan.weight_copy, plan.workspace.wei, at.wei, workspace);
        if(kernel.traits.tma && conv::is_repack(copy))  // other instances run the launch that plan_launch() tells
            repack(conv::as_repack(copy), "weight", "copy of the weight", stream);
        else
            copy_weight(copy, stream);
    }
    if(plan.workspace.out.bytes > 0)
        repack(with_pointers(plan.copy, plan.workspace.out, at.out, workspace), "output", "copy of the output", stream);
    if(plan.workspace.in.bytes > 0)
        repack(with_pointers(plan.in_copy, plan.workspace.in, at.in, workspace), "input", "copy of the input", stream);
    kernel.launch(blocks_of(launch), launch, touched.main, stream);
    if(reduces)
        kernel.reduce(launch, touched.reduction, stream);
}

// A run with a plan and a workspace.
template <class Operation>
float run_with(const PlannedKernel<Operation>& kernel, const typename Operation::Plan& plan,
               const PlannedArgument<Operation>& a, const StreamConfig& config) {
    if(!plan.reason.empty())
        throw std::invalid_argument(plan.reason);
    const std::vector<conv::Placed> tensors = tensors_of(kernel.traits, a);
    const std::string reason = memory_reason(tensors, a.p_workspace_, plan.workspace.bytes());
    if(!reason.empty())
        throw std::invalid_argument(reason);
    const auto once = [&] {
        start(kernel, plan, a.fusion, addresses_of(a), a.p_workspace_, tensors, config.stream_id_);
    };
    if(config.time_kernel_)
        return platform::time_milliseconds(config.stream_id_, config.cold_niters_, std::max(1, config.nrepeat_), once);
    once();
    return 0.f;
}

#if defined(CKGEN_ALLOCATES_WORKSPACE) && CKGEN_ALLOCATES_WORKSPACE
constexpr bool kAllocatesWorkspace = true;
#else
constexpr bool kAllocatesWorkspace = false;
#endif

// Memory of a stream, or null if there is not enough.
std::unique_ptr<platform::StreamMemory> memory_or_null(int64 bytes, platform::Stream stream) {
    try {
        return std::make_unique<platform::StreamMemory>(static_cast<std::size_t>(bytes), stream);
    } catch(const std::bad_alloc&) {
        return nullptr;
    } catch(const platform::LaunchError&) {
        return nullptr;
    }
}

// Runs of a planned problem. Memory whose checks could have another result than at first is planned again.
template <class Operation>
class Prepared final : public PreparedRun {
public:
    Prepared(const PlannedKernel<Operation>& kernel, const PlannedArgument<Operation>& planned)
        : kernel_(kernel), planned_(planned), tensors_(tensors_of(kernel.traits, planned)) {
        for(const conv::Placed& tensor : tensors_)
            bytes_.push_back(span_bytes(tensor.shape, tensor.ndim, tensor.elem_bytes));
    }
    void Start(void* p_in, void* p_wei, const void* p_out, void* workspace, platform::Stream stream) const override {
        const conv::Addresses at{p_in, p_wei, p_out};
        const std::vector<conv::Placed> tensors = placed(at);
        if(fits(tensors, workspace))
            return start(kernel_, planned_.plan, planned_.fusion, at, workspace, tensors, stream);
        const auto argument =
            make_argument(kernel_, planned_.problem, planned_.fusion, p_in, p_wei, const_cast<void*>(p_out));
        if(!argument->plan.reason.empty())
            throw UnsupportedRun(argument->plan.reason);
        argument->p_workspace_ = workspace;
        argument->size_asked = true;
        StreamConfig config;
        config.stream_id_ = stream;
        run_planned(kernel_, argument.get(), config);
    }

private:
    std::vector<conv::Placed> placed(const conv::Addresses& at) const {
        const Roles roles = Operation::roles;
        std::vector<conv::Placed> tensors = tensors_;
        tensors[0].data = at.of(roles.c);
        tensors[1].data = at.of(std::min(roles.a, roles.b));
        tensors[2].data = at.of(std::max(roles.a, roles.b));
        return tensors;
    }
    // True if everything that was checked of the planned addresses holds for these without another look: the same
    // alignment, and memory that lies apart. A D tensor may be the planned result itself and lie beside another.
    bool fits(const std::vector<conv::Placed>& tensors, const void* workspace) const {
        if(!planned_.fusion.d.empty())
            return false;
        const int64 workspace_bytes = planned_.plan.workspace.bytes();
        const auto number = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address); };
        if(workspace_bytes > 0 && (workspace == nullptr || number(workspace) % 16 != 0))
            return false;
        const auto apart = [&](const void* a, int64 a_bytes, const void* b, int64 b_bytes) {
            return number(a) + static_cast<std::uintptr_t>(a_bytes) <= number(b) ||
                   number(b) + static_cast<std::uintptr_t>(b_bytes) <= number(a);
        };
        for(std::size_t i = 0; i < tensors.size(); ++i) {
            const void* const data = tensors[i].data;
            if(data == nullptr || (number(data) - number(tensors_[i].data)) % 16 != 0)
                return false;
            if((i > 0 && !apart(tensors[0].data, bytes_[0], data, bytes_[i])) ||
               !apart(workspace, workspace_bytes, data, bytes_[i]))
                return false;
        }
        return true;
    }

    PlannedKernel<Operation> kernel_;
    PlannedArgument<Operation> planned_;
    std::vector<conv::Placed> tensors_;
    std::vector<int64> bytes_;
};

}  // namespace

template <class Operation>
std::unique_ptr<PreparedRun> prepare_run(const PlannedKernel<Operation>& kernel, const BaseArgument* argument) {
    const PlannedArgument<Operation>& a = argument_of<Operation>(argument);
    if(a.planned_for != kernel.entry)
        throw std::invalid_argument(foreign_reason<Operation>());
    return std::make_unique<Prepared<Operation>>(kernel, a);
}

template <class Operation>
std::unique_ptr<PlannedArgument<Operation>> make_argument(const PlannedKernel<Operation>& kernel,
                                                          const conv::Problem& problem, const conv::Fusion& fusion,
                                                          void* p_in, void* p_wei, const void* p_out) {
    auto argument = std::make_unique<PlannedArgument<Operation>>();
    argument->problem = problem;
    argument->fusion = fusion;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    argument->plan = make_plan(kernel, *argument);
    argument->planned_for = kernel.entry;
    argument->k_batch_ = argument->plan.split_k;
    return argument;
}

template <class Operation>
std::string unsupported_reason(const PlannedKernel<Operation>& kernel, const BaseArgument* argument) {
    const auto* a = dynamic_cast<const PlannedArgument<Operation>*>(argument);
    if(a == nullptr)
        return foreign_reason<Operation>();
    typename Operation::Plan own;
    return plan_of(kernel, *a, own).reason;
}

template <class Operation>
std::size_t workspace_size(const PlannedKernel<Operation>& kernel, const BaseArgument* argument) {
    const PlannedArgument<Operation>& a = argument_of<Operation>(argument);
    a.size_asked = true;
    typename Operation::Plan own;
    return static_cast<std::size_t>(plan_of(kernel, a, own).workspace.bytes());
}

template <class Operation>
void know_size(const PlannedKernel<Operation>& kernel, const BaseArgument* argument, std::size_t reported) {
    const auto* a = dynamic_cast<const PlannedArgument<Operation>*>(argument);
    if(a == nullptr || reported == 0)
        return;
    typename Operation::Plan own;
    const typename Operation::Plan& plan = plan_of(kernel, *a, own);
    if(plan.reason.empty() && static_cast<std::size_t>(plan.workspace.bytes()) == reported)
        a->size_asked = true;
}

template <class Operation>
RunPlan plan_launch(const PlannedKernel<Operation>& kernel, const BaseArgument* argument) {
    typename Operation::Plan own;
    PlannedArgument<Operation> a = argument_of<Operation>(argument);
    a.plan = plan_of(kernel, a, own);
    a.planned_for = kernel.entry;
    if(a.p_workspace_ == nullptr && a.plan.workspace.partial_bytes > 0) {  // as run_planned does
        a.problem.split_k = 1;
        a.plan = make_plan(kernel, a);
    }
    const typename Operation::Plan& plan = a.plan;
    if(a.p_workspace_ == nullptr && plan.workspace.bytes() > 0 && !kernel.traits.tma)  // whose launch is not told
        throw std::invalid_argument("[workspace] the launch needs a workspace of " +
                                    std::to_string(plan.workspace.bytes()) + " bytes, and none is given");
    const PlannedLaunch<Operation> launch = launch_of<Operation>(plan, a.fusion, addresses_of(a), a.p_workspace_);
    RunPlan run{{kernel.traits.tma ? std::vector<char>{} : kernel.argument(launch), blocks_of(launch),
                 kernel.traits.launch_threads},
                {}};
    if(plan.workspace.wei.bytes > 0) {
        const conv::WeightCopyArgs copy =
            with_pointers(plan.weight_copy, plan.workspace.wei, addresses_of(a).wei, a.p_workspace_);
        const auto* bytes = reinterpret_cast<const char*>(&copy);
        run.copy = {{bytes, bytes + sizeof(copy)}, conv::weight_copy_blocks(copy), conv::kWeightCopyThreads};
    }
    return run;
}

// A caller may give no workspace, as CK's callers do. A workspace does not count if the caller never asked for its
// size, of this argument or of an equal one: its size is then one that the caller computed for CK's kernels, which take
// less or none. The run then uses split_k 1, and allocates memory itself if even that needs some. A library with
// CKGEN_ALLOCATES_WORKSPACE keeps split_k and allocates what it needs; it uses split_k 1 only if memory is short.
template <class Operation>
float run_planned(const PlannedKernel<Operation>& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const PlannedArgument<Operation>& given = argument_of<Operation>(argument);
    typename Operation::Plan own;
    const typename Operation::Plan& plan = plan_of(kernel, given, own);
    const bool usable = given.p_workspace_ != nullptr && given.size_asked;
    if(!plan.reason.empty() || plan.workspace.bytes() == 0 || usable)
        return run_with(kernel, plan, given, config);
    PlannedArgument<Operation> a = given;
    std::unique_ptr<platform::StreamMemory> memory;
    if(kAllocatesWorkspace) {
        a.plan = plan;
        memory = memory_or_null(plan.workspace.bytes(), config.stream_id_);
    }
    if(memory == nullptr) {
        a.problem.split_k = 1;
        a.plan = make_plan(kernel, a);
        memory = std::make_unique<platform::StreamMemory>(static_cast<std::size_t>(a.plan.workspace.bytes()),
                                                          config.stream_id_);
    }
    a.p_workspace_ = memory->get();
    return run_with(kernel, a.plan, a, config);
}

#define CKGEN_PLANNED_OPERATION(OPERATION)                                                                             \
    template std::unique_ptr<PlannedArgument<OPERATION>> make_argument(                                                \
        const PlannedKernel<OPERATION>&, const conv::Problem&, const conv::Fusion&, void*, void*, const void*);        \
    template std::string unsupported_reason(const PlannedKernel<OPERATION>&, const BaseArgument*);                     \
    template std::size_t workspace_size(const PlannedKernel<OPERATION>&, const BaseArgument*);                         \
    template void know_size(const PlannedKernel<OPERATION>&, const BaseArgument*, std::size_t);                        \
    template RunPlan plan_launch(const PlannedKernel<OPERATION>&, const BaseArgument*);                                \
    template std::unique_ptr<PreparedRun> prepare_run(const PlannedKernel<OPERATION>&, const BaseArgument*);           \
    template float run_planned(const PlannedKernel<OPERATION>&, const BaseArgument*, const StreamConfig&);

CKGEN_EACH_OPERATION(CKGEN_PLANNED_OPERATION)

}  // namespace ckgen::tensor_operation::device
