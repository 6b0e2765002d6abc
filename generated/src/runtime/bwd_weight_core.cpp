// Copied by ckgen from templates/src/bwd_weight_core.cpp. Do not edit; run: ckgen generate
// Argument, support check and run of backward weight, shared by all instances.
#include "ckgen/device/bwd_weight_core.hpp"

#include <cstdint>
#include <stdexcept>

namespace ckgen::tensor_operation::device {
namespace {

const BwdWeightArgument& argument_of(const BaseArgument* argument) {
    const auto* mine = dynamic_cast<const BwdWeightArgument*>(argument);
    if(mine == nullptr)
        throw std::invalid_argument("[argument] not an argument of grouped convolution backward weight");
    return *mine;
}

// The argument's plan; where the argument was made for another kernel, one for this kernel, kept in `own`.
const conv::BwdWeightPlan& plan_of(const BwdWeightKernel& kernel, const BwdWeightArgument& a,
                                   conv::BwdWeightPlan& own) {
    if(a.planned_for == kernel.entry)
        return a.plan;
    own = conv::make_plan(kernel.traits, a.problem, a.p_in, a.p_wei, a.p_out, platform::compute_units());
    return own;
}

std::string run_reason(const conv::BwdWeightPlan& plan, const BwdWeightArgument& a) {
    if(!plan.reason.empty())
        return plan.reason;
    if(a.p_in == nullptr || a.p_wei == nullptr || a.p_out == nullptr)
        return "[null-pointer] input, weight and output must be given to run";
    const int64 workspace = plan.workspace.bytes();
    if(workspace > 0 && a.p_workspace_ == nullptr)
        return "[workspace] split_k " + std::to_string(plan.split_k) +
               (plan.workspace.copy_bytes > 0 ? " and a copy of the output need " : " needs ") +
               std::to_string(workspace) + " bytes of workspace; call SetWorkSpacePointer";
    if(workspace > 0 && reinterpret_cast<std::uintptr_t>(a.p_workspace_) % 16 != 0)
        return "[workspace] the address of the workspace is not a multiple of 16";
    return {};
}

}  // namespace

std::unique_ptr<BwdWeightArgument> make_bwd_weight_argument(const BwdWeightKernel& kernel, const conv::Problem& problem,
                                                            const void* p_in, void* p_wei, const void* p_out) {
    auto argument = std::make_unique<BwdWeightArgument>();
    argument->problem = problem;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    argument->plan = conv::make_plan(kernel.traits, problem, p_in, p_wei, p_out, platform::compute_units());
    argument->planned_for = kernel.entry;
    argument->k_batch_ = argument->plan.split_k;
    return argument;
}

std::string bwd_weight_unsupported_reason(const BwdWeightKernel& kernel, const BaseArgument* argument) {
    const auto* a = dynamic_cast<const BwdWeightArgument*>(argument);
    if(a == nullptr)
        return "[argument] not an argument of grouped convolution backward weight";
    conv::BwdWeightPlan own;
    return plan_of(kernel, *a, own).reason;
}

std::size_t bwd_weight_workspace_size(const BwdWeightKernel& kernel, const BaseArgument* argument) {
    conv::BwdWeightPlan own;
    return static_cast<std::size_t>(plan_of(kernel, argument_of(argument), own).workspace.bytes());
}

conv::BwdWeightArgs plan_bwd_weight(const BwdWeightKernel& kernel, const BwdWeightArgument& a) {
    conv::BwdWeightPlan own;
    const conv::BwdWeightPlan& plan = plan_of(kernel, a, own);
    conv::BwdWeightArgs args = plan.args;
    auto* workspace = static_cast<char*>(a.p_workspace_);
    args.in = static_cast<const char*>(a.p_in);
    args.out =
        plan.workspace.copy_bytes > 0 ? workspace + plan.workspace.copy_offset : static_cast<const char*>(a.p_out);
    args.wei = static_cast<char*>(a.p_wei);
    args.partial = plan.workspace.partial_bytes > 0 ? reinterpret_cast<float*>(workspace) : nullptr;
    return args;
}

LaunchPlan plan_launch(const BwdWeightKernel& kernel, const BaseArgument& argument) {
    const conv::BwdWeightArgs args = plan_bwd_weight(kernel, argument_of(&argument));
    const auto* bytes = reinterpret_cast<const char*>(&args);
    LaunchPlan plan;
    if(!kernel.traits.copy_engine)
        plan.args.assign(bytes, bytes + sizeof(args));
    plan.blocks = static_cast<uint32>(conv::grid_size(args));
    plan.threads = kernel.traits.launch_threads;
    return plan;
}

float run_bwd_weight(const BwdWeightKernel& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const BwdWeightArgument& a = argument_of(argument);
    conv::BwdWeightPlan own;
    const conv::BwdWeightPlan& plan = plan_of(kernel, a, own);
    const std::string reason = run_reason(plan, a);
    if(!reason.empty())
        throw std::invalid_argument(reason);

    const conv::BwdWeightTraits& traits = kernel.traits;
    const conv::BwdWeightArgs args = plan_bwd_weight(kernel, a);
    const bool copies = plan.workspace.copy_bytes > 0;
    conv::RepackArgs copy{};
    if(copies) {
        copy = conv::repack_args(a.problem, traits.elem_bytes, conv::kMostPadding);
        copy.source = static_cast<const char*>(a.p_out);
        copy.target = static_cast<char*>(a.p_workspace_) + plan.workspace.copy_offset;
    }
    const int64 wei_elements = a.problem.wei_elements();
    const bool reduces = args.partial != nullptr && !traits.persistent;
    std::vector<Touched> touched{
        {"input", a.p_in, span_bytes(a.problem.in, traits.ndim, traits.elem_bytes), false},
        {"output", args.out,
         copies ? plan.workspace.copy_bytes : span_bytes(a.problem.out, traits.ndim, traits.elem_bytes), false},
        {"workspace", a.p_workspace_, plan.workspace.partial_bytes, true}};
    if(!reduces)
        touched.push_back({"weight", a.p_wei, wei_elements * traits.wei_bytes, true});

    const auto once = [&] {
        if(copies)
            repack(copy, config.stream_id_);
        kernel.launch(static_cast<uint32>(conv::grid_size(args)), args, touched, config.stream_id_);
        if(reduces)
            kernel.reduce(args.partial, a.p_wei, wei_elements, plan.split_k, config.stream_id_);
    };
    if(config.time_kernel_)
        return platform::time_milliseconds(config.stream_id_, config.cold_niters_, config.nrepeat_, once);
    once();
    return 0.f;
}

std::string bwd_weight_type_string(const BwdWeightTypeFields& f) {
    const char* spec = f.conv_spec == ConvSpec::Default ? "Default" : "Filter1x1Stride1Pad0";
    std::string text = std::string(f.class_name) + "<";
    for(const int value : {f.block_size, f.m_per_block, f.n_per_block, f.k0_per_block})
        text += std::to_string(value) + ", ";
    text += spec;
    for(const int value :
        {f.k1, f.m_xdl_per_wave, f.n_xdl_per_wave, f.a_src, f.a_dst, f.b_src, f.b_dst, 1, 1, f.c_vector})
        text += ", " + std::to_string(value);
    return text + ">";
}

}  // namespace ckgen::tensor_operation::device
