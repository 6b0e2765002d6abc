// Copied by ckgen from templates/src/op/bwd_data_core.cpp. Do not edit; run: ckgen generate
// Argument, support check and run of backward data, shared by all instances.
#include "ckgen/op/bwd_data_core.hpp"

#include <algorithm>

#include "ckgen/plan/memory_overlap.hpp"

namespace ckgen::tensor_operation::device {
namespace {

// The input, which is written, and then what is read; a D tensor that is the input itself is left out.
std::vector<conv::Placed> tensors_of(const conv::BwdDataTraits& t, const BwdDataArgument& a) {
    std::vector<conv::Placed> tensors{{"input", a.p_in, a.problem.in, t.ndim, t.in_bytes},
                                      {"weight", a.p_wei, a.problem.wei, t.ndim, t.elem_bytes},
                                      {"output", a.p_out, a.problem.out, t.ndim, t.elem_bytes}};
    for(std::size_t i = 0; i < t.d.size(); ++i)
        if(a.fusion.d[i].data != a.p_in || a.p_in == nullptr)
            tensors.push_back({"D tensor", a.fusion.d[i].data, a.fusion.d[i].shape, t.ndim, t.d[i].bytes});
    return tensors;
}

BwdDataLaunch launch_of(const conv::BwdDataPlan& plan, const BwdDataArgument& a) {
    BwdDataLaunch launch{plan.args, plan.units, plan.d, a.fusion.scalars};
    auto* workspace = static_cast<char*>(a.p_workspace_);
    launch.args.target = static_cast<char*>(a.p_in);
    launch.args.wei = static_cast<const char*>(a.p_wei);
    launch.args.out =
        plan.workspace.copy_bytes > 0 ? workspace + plan.workspace.copy_offset : static_cast<const char*>(a.p_out);
    launch.args.partial = plan.workspace.partial_bytes > 0 ? reinterpret_cast<float*>(workspace) : nullptr;
    return launch;
}

// What a D tensor reaches over, whatever of it is broadcast.
int64 bytes_of_d(const conv::BwdDataArgs& args, const conv::BwdDataTensor& d, int64 bytes) {
    int64 elements = 1 + (args.groups - 1) * d.strides.group + (args.images - 1) * d.strides.image;
    elements += (args.n - 1) * int64{d.strides.channel};
    for(int i = 0; i < 3; ++i)
        elements += std::max(args.in_length[i] - 1, 0) * int64{d.strides.position[i]};
    return elements * bytes;
}

}  // namespace

conv::BwdDataPlan make_plan(const BwdDataKernel& kernel, const BwdDataArgument& a) {
    conv::BwdDataPlan plan =
        conv::make_plan(kernel.traits, a.problem, a.fusion, a.p_in, a.p_wei, a.p_out, platform::compute_units());
    if(plan.reason.empty())
        plan.reason = conv::overlap_reason(tensors_of(kernel.traits, a));
    if(plan.reason.empty() && kernel.traits.copy_engine) {
        const BwdDataArgument placed = with_addresses(a);
        const BwdDataLaunch launch = launch_of(plan, placed);
        plan.reason = kernel.map_reason(static_cast<uint32>(conv::grid_size(launch.args)), launch);
    }
    return plan;
}

std::unique_ptr<BwdDataArgument> make_bwd_data_argument(const BwdDataKernel& kernel, const conv::Problem& problem,
                                                        const conv::Fusion& fusion, void* p_in, const void* p_wei,
                                                        const void* p_out) {
    auto argument = std::make_unique<BwdDataArgument>();
    argument->problem = problem;
    argument->fusion = fusion;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    return planned(kernel, std::move(argument));
}

std::size_t bwd_data_workspace_size(const BwdDataKernel& kernel, const BaseArgument* argument) {
    conv::BwdDataPlan own;
    return static_cast<std::size_t>(plan_of(kernel, argument_of<BwdDataArgument>(argument), own).workspace.bytes());
}

LaunchPlan plan_launch(const BwdDataKernel& kernel, const BaseArgument& argument) {
    conv::BwdDataPlan own;
    const auto& a = argument_of<BwdDataArgument>(&argument);
    const BwdDataLaunch launch = launch_of(plan_of(kernel, a, own), a);
    return {kernel.traits.copy_engine ? std::vector<char>{} : kernel.argument(launch),
            static_cast<uint32>(conv::grid_size(launch.args)), kernel.traits.launch_threads};
}

float run_bwd_data(const BwdDataKernel& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const auto work_of = [&](const conv::BwdDataPlan& plan, const BwdDataArgument& a) {
        const conv::BwdDataTraits& traits = kernel.traits;
        std::vector<Touched> d;
        for(std::size_t i = 0; i < plan.d.size(); ++i)
            d.push_back({"D", plan.d[i].data, bytes_of_d(plan.args, plan.d[i], traits.d[i].bytes), false});
        const Touched input{"input", a.p_in, span_bytes(a.problem.in, traits.ndim, traits.in_bytes), true};
        const Touched partials{"partials", a.p_workspace_, plan.workspace.partial_bytes, true};
        const bool splits = plan.workspace.partial_bytes > 0;

        const bool copies = plan.workspace.copy_bytes > 0;
        const bool reduces = splits && !traits.persistent;
        conv::RepackArgs copy = plan.copy;
        copy.source = static_cast<const char*>(a.p_out);
        copy.target = static_cast<char*>(a.p_workspace_) + plan.workspace.copy_offset;
        const BwdDataLaunch launch = launch_of(plan, a);

        std::vector<Touched> main{
            {"output", launch.args.out,
             copies ? plan.workspace.copy_bytes : span_bytes(a.problem.out, traits.ndim, traits.elem_bytes), false},
            {"weight", a.p_wei, span_bytes(a.problem.wei, traits.ndim, traits.elem_bytes), false}};
        if(splits)
            main.push_back(partials);
        std::vector<Touched> last{partials};
        std::vector<Touched>& writes = reduces ? last : main;
        writes.push_back(input);
        writes.insert(writes.end(), d.begin(), d.end());
        return [=, &kernel, &config] {
            if(copies)
                repack(copy, config.stream_id_);
            kernel.launch(static_cast<uint32>(conv::grid_size(launch.args)), launch, main, config.stream_id_);
            if(reduces)
                kernel.reduce(launch, last, config.stream_id_);
        };
    };
    const auto tensors = [&](const BwdDataArgument& a) { return tensors_of(kernel.traits, a); };
    return run_planned<BwdDataArgument>(kernel, argument, config, tensors, work_of);
}

std::string bwd_data_type_string(const BwdDataTypeFields& f) {
    const char* spec = f.conv_spec == ConvSpec::Default ? "Default" : "Filter1x1Stride1Pad0";
    std::string text = std::string(f.class_name) + "<";
    for(const int value : {f.block_size, f.m_per_block, f.n_per_block, f.k_per_block, f.k1, f.k1})
        text += std::to_string(value) + ", ";
    text += spec;
    for(const int value : {f.m_per_xdl, f.m_per_xdl, f.m_xdl_per_wave, f.n_xdl_per_wave, f.a_src, f.b_src, 1, 1})
        text += ", " + std::to_string(value);
    return text + ">";
}

}  // namespace ckgen::tensor_operation::device
