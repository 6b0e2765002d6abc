// Argument, support check and run of backward weight, shared by all instances.
#include "ckgen/op/bwd_weight_core.hpp"

#include "ckgen/plan/memory_overlap.hpp"

namespace ckgen::tensor_operation::device {
namespace {

// The weight, which is written, and then what is read.
std::vector<conv::Placed> tensors_of(const conv::BwdWeightTraits& t, const BwdWeightArgument& a) {
    return {{"weight", a.p_wei, a.problem.wei, t.ndim, t.wei_bytes},
            {"input", a.p_in, a.problem.in, t.ndim, t.elem_bytes},
            {"output", a.p_out, a.problem.out, t.ndim, t.elem_bytes}};
}

// The main kernel's arguments for a supported argument, whose workspace may be missing where it needs none.
conv::BwdWeightArgs args_of(const conv::BwdWeightPlan& plan, const BwdWeightArgument& a) {
    conv::BwdWeightArgs args = plan.args;
    auto* workspace = static_cast<char*>(a.p_workspace_);
    args.in = static_cast<const char*>(a.p_in);
    args.out =
        plan.workspace.copy_bytes > 0 ? workspace + plan.workspace.copy_offset : static_cast<const char*>(a.p_out);
    args.wei = static_cast<char*>(a.p_wei);
    args.partial = plan.workspace.partial_bytes > 0 ? reinterpret_cast<float*>(workspace) : nullptr;
    return args;
}

}  // namespace

conv::BwdWeightPlan make_plan(const BwdWeightKernel& kernel, const BwdWeightArgument& a) {
    conv::BwdWeightPlan plan =
        conv::make_plan(kernel.traits, a.problem, a.p_in, a.p_wei, a.p_out, platform::compute_units());
    if(plan.reason.empty())
        plan.reason = conv::overlap_reason(tensors_of(kernel.traits, a));
    if(plan.reason.empty() && kernel.traits.copy_engine) {
        const conv::BwdWeightArgs args = args_of(plan, with_addresses(a));
        plan.reason = kernel.map_reason(static_cast<uint32>(conv::grid_size(args)), args);
    }
    return plan;
}

std::unique_ptr<BwdWeightArgument> make_bwd_weight_argument(const BwdWeightKernel& kernel, const conv::Problem& problem,
                                                            const void* p_in, void* p_wei, const void* p_out) {
    auto argument = std::make_unique<BwdWeightArgument>();
    argument->problem = problem;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    return planned(kernel, std::move(argument));
}

std::size_t bwd_weight_workspace_size(const BwdWeightKernel& kernel, const BaseArgument* argument) {
    conv::BwdWeightPlan own;
    const auto& a = argument_of<BwdWeightArgument>(argument);
    return static_cast<std::size_t>(plan_of(kernel, a, own).workspace.bytes());
}

LaunchPlan plan_launch(const BwdWeightKernel& kernel, const BaseArgument& argument) {
    conv::BwdWeightPlan own;
    const auto& a = argument_of<BwdWeightArgument>(&argument);
    const conv::BwdWeightArgs args = args_of(plan_of(kernel, a, own), a);
    const auto* bytes = reinterpret_cast<const char*>(&args);
    LaunchPlan plan;
    if(!kernel.traits.copy_engine)
        plan.args.assign(bytes, bytes + sizeof(args));
    plan.blocks = static_cast<uint32>(conv::grid_size(args));
    plan.threads = kernel.traits.launch_threads;
    return plan;
}

float run_bwd_weight(const BwdWeightKernel& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const auto work_of = [&](const conv::BwdWeightPlan& plan, const BwdWeightArgument& a) {
        const conv::BwdWeightTraits& traits = kernel.traits;
        const conv::BwdWeightArgs args = args_of(plan, a);
        const bool copies = plan.workspace.copy_bytes > 0;
        conv::RepackArgs copy = plan.copy;
        copy.source = static_cast<const char*>(a.p_out);
        copy.target = static_cast<char*>(a.p_workspace_) + plan.workspace.copy_offset;
        const int64 wei_elements = a.problem.wei_elements();
        const bool reduces = args.partial != nullptr && !traits.persistent;
        std::vector<Touched> touched{
            {"input", a.p_in, span_bytes(a.problem.in, traits.ndim, traits.elem_bytes), false},
            {"output", args.out,
             copies ? plan.workspace.copy_bytes : span_bytes(a.problem.out, traits.ndim, traits.elem_bytes), false},
            {"workspace", a.p_workspace_, plan.workspace.partial_bytes, true}};
        if(!reduces)
            touched.push_back({"weight", a.p_wei, wei_elements * traits.wei_bytes, true});

        return [=, &kernel, &config, wei = a.p_wei, split_k = plan.split_k] {
            if(copies)
                repack(copy, config.stream_id_);
            kernel.launch(static_cast<uint32>(conv::grid_size(args)), args, touched, config.stream_id_);
            if(reduces)
                kernel.reduce(args.partial, wei, wei_elements, split_k, config.stream_id_);
        };
    };
    const auto tensors = [&](const BwdWeightArgument& a) { return tensors_of(kernel.traits, a); };
    return run_planned<BwdWeightArgument>(kernel, argument, config, tensors, work_of);
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
