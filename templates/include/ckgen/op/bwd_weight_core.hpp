// What every backward-weight operator shares, whatever its layout, type and kernel: argument, planning, launching.
#pragma once

#include "ckgen/op/planned.hpp"
#include "ckgen/plan/bwd_weight_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdWeightArgument : PlannedArgument<conv::BwdWeightPlan> {
    static constexpr const char* operation = "grouped convolution backward weight";
    const void* p_in = nullptr;
    void* p_wei = nullptr;
    const void* p_out = nullptr;
};

// The parts of an instance that launching needs, as values.
struct BwdWeightKernel {
    conv::BwdWeightTraits traits;
    platform::KernelEntry entry;
    int lds_bytes;
    void (*launch)(uint32 blocks, const conv::BwdWeightArgs&, const std::vector<Touched>&, platform::Stream);
    std::string (*map_reason)(uint32 blocks,
                              const conv::BwdWeightArgs&);  // why its tensor maps are refused, or nothing
    // Sums f32 partials into the weight type; persistent kernels do that themselves.
    void (*reduce)(const float* partial, void* wei, int64 elements, int split_k, platform::Stream);
};

std::unique_ptr<BwdWeightArgument> make_bwd_weight_argument(const BwdWeightKernel&, const conv::Problem&,
                                                            const void* p_in, void* p_wei, const void* p_out);
conv::BwdWeightPlan make_plan(const BwdWeightKernel&, const BwdWeightArgument&);
// What Run launches.
LaunchPlan plan_launch(const BwdWeightKernel&, const BaseArgument&);
std::size_t bwd_weight_workspace_size(const BwdWeightKernel&, const BaseArgument*);
float run_bwd_weight(const BwdWeightKernel&, const BaseArgument*, const StreamConfig&);

// CK's type string from the numbers CK prints.
struct BwdWeightTypeFields {
    const char* class_name;
    int block_size, m_per_block, n_per_block, k0_per_block;
    ConvSpec conv_spec;
    int k1, m_xdl_per_wave, n_xdl_per_wave, a_src, a_dst, b_src, b_dst, c_vector;
};
std::string bwd_weight_type_string(const BwdWeightTypeFields&);

// Defined in reduce.cpp, once a weight type.
template <class Wei>
void reduce_partials(const float* partial, void* wei, int64 elements, int split_k, platform::Stream stream);

}  // namespace ckgen::tensor_operation::device
