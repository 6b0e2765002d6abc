// Argument, support check and run of backward data, shared by all instances.
#include "ckgen/device/bwd_data_core.hpp"

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace ckgen::tensor_operation::device {
namespace {

const char* const kForeign = "[argument] not an argument of grouped convolution backward data";

const BwdDataArgument& argument_of(const BaseArgument* argument) {
    const auto* mine = dynamic_cast<const BwdDataArgument*>(argument);
    if(mine == nullptr)
        throw std::invalid_argument(kForeign);
    return *mine;
}

// The argument's plan; where the argument was made for another kernel, one for this kernel, kept in `own`.
const conv::BwdDataPlan& plan_of(const BwdDataKernel& kernel, const BwdDataArgument& a, conv::BwdDataPlan& own) {
    if(a.planned_for == kernel.entry)
        return a.plan;
    own = conv::make_plan(kernel.traits, a.problem, a.fusion, a.p_in, a.p_wei, a.p_out, platform::compute_units());
    return own;
}

std::string run_reason(const conv::BwdDataPlan& plan, const BwdDataArgument& a) {
    if(!plan.reason.empty())
        return plan.reason;
    if(a.p_in == nullptr || a.p_wei == nullptr || a.p_out == nullptr)
        return "[null-pointer] input, weight and output must be given to run";
    for(const conv::BwdDataTensor& d : plan.d)
        if(d.data == nullptr)
            return "[null-pointer] D tensors must be given to run";
    const int64 workspace = plan.workspace.bytes();
    if(workspace > 0 && a.p_workspace_ == nullptr)
        return "[workspace] split_k " + std::to_string(plan.split_k) +
               (plan.workspace.copy_bytes > 0 ? " and a copy of the output need " : " needs ") +
               std::to_string(workspace) + " bytes of workspace; call SetWorkSpacePointer";
    if(workspace > 0 && reinterpret_cast<std::uintptr_t>(a.p_workspace_) % 16 != 0)
        return "[workspace] the address of the workspace is not a multiple of 16";
    return {};
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

std::unique_ptr<BwdDataArgument> make_bwd_data_argument(const BwdDataKernel& kernel, const conv::Problem& problem,
                                                        const conv::Fusion& fusion, void* p_in, const void* p_wei,
                                                        const void* p_out) {
    auto argument = std::make_unique<BwdDataArgument>();
    argument->problem = problem;
    argument->fusion = fusion;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    argument->plan = conv::make_plan(kernel.traits, problem, fusion, p_in, p_wei, p_out, platform::compute_units());
    argument->planned_for = kernel.entry;
    argument->k_batch_ = argument->plan.split_k;
    return argument;
}

std::string bwd_data_unsupported_reason(const BwdDataKernel& kernel, const BaseArgument* argument) {
    const auto* a = dynamic_cast<const BwdDataArgument*>(argument);
    if(a == nullptr)
        return kForeign;
    conv::BwdDataPlan own;
    return plan_of(kernel, *a, own).reason;
}

std::size_t bwd_data_workspace_size(const BwdDataKernel& kernel, const BaseArgument* argument) {
    conv::BwdDataPlan own;
    return static_cast<std::size_t>(plan_of(kernel, argument_of(argument), own).workspace.bytes());
}

LaunchPlan plan_launch(const BwdDataKernel& kernel, const BaseArgument& argument) {
    conv::BwdDataPlan own;
    const BwdDataArgument& a = argument_of(&argument);
    const BwdDataLaunch launch = launch_of(plan_of(kernel, a, own), a);
    return {kernel.traits.copy_engine ? std::vector<char>{} : kernel.argument(launch),
            static_cast<uint32>(conv::grid_size(launch.args)), kernel.traits.launch_threads};
}

float run_bwd_data(const BwdDataKernel& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const BwdDataArgument& a = argument_of(argument);
    conv::BwdDataPlan own;
    const conv::BwdDataPlan& plan = plan_of(kernel, a, own);
    const std::string reason = run_reason(plan, a);
    if(!reason.empty())
        throw std::invalid_argument(reason);

    const conv::BwdDataTraits& traits = kernel.traits;
    const BwdDataLaunch launch = launch_of(plan, a);
    std::vector<Touched> d;
    for(std::size_t i = 0; i < plan.d.size(); ++i)
        d.push_back({"D", plan.d[i].data, bytes_of_d(plan.args, plan.d[i], traits.d[i].bytes), false});
    const Touched input{"input", a.p_in, span_bytes(a.problem.in, traits.ndim, traits.in_bytes), true};
    const Touched partials{"partials", a.p_workspace_, plan.workspace.partial_bytes, true};
    const bool copies = plan.workspace.copy_bytes > 0;
    const bool splits = plan.workspace.partial_bytes > 0;
    const bool reduces = splits && !traits.persistent;
    conv::RepackArgs copy = plan.copy;
    copy.source = static_cast<const char*>(a.p_out);
    copy.target = static_cast<char*>(a.p_workspace_) + plan.workspace.copy_offset;

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
    const auto once = [&] {
        if(copies)
            repack(copy, config.stream_id_);
        kernel.launch(static_cast<uint32>(conv::grid_size(plan.args)), launch, main, config.stream_id_);
        if(reduces)
            kernel.reduce(launch, last, config.stream_id_);
    };
    if(config.time_kernel_)
        return platform::time_milliseconds(config.stream_id_, config.cold_niters_, config.nrepeat_, once);
    once();
    return 0.f;
}

std::string bwd_data_type_string(const BwdDataTypeFields& f) {
    const char* spec = f.conv_spec == ConvSpec::Default ? "Default" : "Filter1x1Stride1Pad0";
    std::string text = std::string(f.class_name) + "<";
    for(const int value : {f.block_size, f.m_per_block, f.n_per_block, f.k_per_block, f.k1, f.k1})
        text += std::to_string(value) + ", ";
    text += spec;
    for(const int value : {f.m_per_xdl, f.m_per_xdl, f.m_xdl_per_wave, f.n_xdl_per_wave, f.a_src, f.a_dst, f.b_src,
                           f.b_dst, 1, 1, f.c_vector})
        text += ", " + std::to_string(value);
    return text + ">";
}

}  // namespace ckgen::tensor_operation::device
