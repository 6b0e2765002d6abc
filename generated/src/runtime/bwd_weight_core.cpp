// Copied by ckgen from templates/src/bwd_weight_core.cpp. Do not edit; run: ckgen generate
// Argument, support check and run of backward weight, shared by all instances.
#include "ckgen/device/bwd_weight_core.hpp"

#include <algorithm>
#include <stdexcept>

namespace ckgen::tensor_operation::device {
namespace {

const BwdWeightArgument& argument_of(const BaseArgument* argument) {
    const auto* mine = dynamic_cast<const BwdWeightArgument*>(argument);
    if(mine == nullptr)
        throw std::invalid_argument("[argument] not an argument of grouped convolution backward weight");
    return *mine;
}

// Bytes from a tensor's first to past its last element.
int64 span_bytes(const conv::Tensor& tensor, int ndim, int64 element_bytes) {
    int64 elements = 1;
    for(int d = 0; d < ndim + 3; ++d)
        elements += (tensor.lengths[d] - 1) * tensor.strides[d];
    return elements * element_bytes;
}

std::string run_reason(const BwdWeightKernel& kernel, const BwdWeightArgument& a, int64 workspace) {
    std::string reason = bwd_weight_unsupported_reason(kernel, &a);
    if(reason.empty() && (a.p_in == nullptr || a.p_wei == nullptr || a.p_out == nullptr))
        reason = "[null-pointer] input, weight and output must be given to run";
    if(reason.empty() && workspace > 0 && a.p_workspace_ == nullptr)
        reason = "[workspace] split_k " + std::to_string(a.k_batch_) + " needs " + std::to_string(workspace) +
                 " bytes of workspace; call SetWorkSpacePointer";
    return reason;
}

}  // namespace

std::unique_ptr<BwdWeightArgument> make_bwd_weight_argument(const BwdWeightKernel& kernel, const conv::Problem& problem,
                                                            const void* p_in, void* p_wei, const void* p_out) {
    auto argument = std::make_unique<BwdWeightArgument>();
    argument->problem = problem;
    argument->p_in = p_in;
    argument->p_wei = p_wei;
    argument->p_out = p_out;
    if(bwd_weight_unsupported_reason(kernel, argument.get()).empty())
        argument->k_batch_ = conv::resolve_split_k(kernel.traits, problem, platform::compute_units());
    return argument;
}

std::string bwd_weight_unsupported_reason(const BwdWeightKernel& kernel, const BaseArgument* argument) {
    const auto* a = dynamic_cast<const BwdWeightArgument*>(argument);
    if(a == nullptr)
        return "[argument] not an argument of grouped convolution backward weight";
    return conv::unsupported_reason(kernel.traits, a->problem, a->p_in, a->p_wei, a->p_out);
}

std::size_t bwd_weight_workspace_size(const BwdWeightKernel&, const BaseArgument* argument) {
    const BwdWeightArgument& a = argument_of(argument);
    return static_cast<std::size_t>(std::max<int64>(0, conv::workspace_bytes(a.problem, a.k_batch_)));
}

conv::BwdWeightArgs plan_bwd_weight(const BwdWeightKernel& kernel, const BwdWeightArgument& a) {
    conv::BwdWeightArgs args = conv::make_args(kernel.traits, a.problem, a.k_batch_);
    args.in = static_cast<const char*>(a.p_in);
    args.out = static_cast<const char*>(a.p_out);
    args.wei = static_cast<char*>(a.p_wei);
    args.partial = a.k_batch_ > 1 ? static_cast<float*>(a.p_workspace_) : nullptr;
    return args;
}

float run_bwd_weight(const BwdWeightKernel& kernel, const BaseArgument* argument, const StreamConfig& config) {
    const BwdWeightArgument& a = argument_of(argument);
    const auto workspace = static_cast<int64>(bwd_weight_workspace_size(kernel, argument));
    const std::string reason = run_reason(kernel, a, workspace);
    if(!reason.empty())
        throw std::invalid_argument(reason);

    const conv::BwdWeightTraits& traits = kernel.traits;
    const conv::BwdWeightArgs args = plan_bwd_weight(kernel, a);
    void* target = args.partial != nullptr ? a.p_workspace_ : a.p_wei;
    const int64 wei_bytes = a.problem.wei_elements() * traits.wei_bytes;

    const auto once = [&] {
        kernel.launch(static_cast<uint32>(conv::grid_size(args)), args, a.p_in,
                      span_bytes(a.problem.in, traits.ndim, traits.elem_bytes), target,
                      args.partial != nullptr ? workspace : wei_bytes, a.p_out,
                      span_bytes(a.problem.out, traits.ndim, traits.elem_bytes), config.stream_id_);
        if(args.partial != nullptr)
            kernel.reduce(args.partial, a.p_wei, a.problem.wei_elements(), a.k_batch_, config.stream_id_);
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
