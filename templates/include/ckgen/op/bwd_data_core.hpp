// What every backward-data operator shares, whatever its layout, type, function and kernel: argument, planning,
// launching.
#pragma once

#include "ckgen/op/planned.hpp"
#include "ckgen/plan/bwd_data_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdDataArgument : PlannedArgument<conv::BwdDataPlan> {
    static constexpr const char* operation = "grouped convolution backward data";
    conv::Fusion fusion;
    void* p_in = nullptr;
    const void* p_wei = nullptr;
    const void* p_out = nullptr;
};

// A plan with its pointers: what a kernel's argument is made of.
struct BwdDataLaunch {
    conv::BwdDataArgs args;
    const conv::BwdDataUnits& units;  // of persistent kernels
    const std::vector<conv::BwdDataTensor>& d;
    const std::vector<float>& scalars;
};

// The parts of an instance that launching needs, as values.
struct BwdDataKernel {
    conv::BwdDataTraits traits;
    platform::KernelEntry entry;
    int lds_bytes;
    void (*launch)(uint32 blocks, const BwdDataLaunch&, const std::vector<Touched>&, platform::Stream);
    std::string (*map_reason)(uint32 blocks, const BwdDataLaunch&);  // why its tensor maps are refused, or nothing
    // Sums f32 partials, applies the function and writes the input; persistent kernels do that themselves.
    void (*reduce)(const BwdDataLaunch&, const std::vector<Touched>&, platform::Stream);
    std::vector<char> (*argument)(const BwdDataLaunch&);  // the main kernel's, as bytes
};

std::unique_ptr<BwdDataArgument> make_bwd_data_argument(const BwdDataKernel&, const conv::Problem&, const conv::Fusion&,
                                                        void* p_in, const void* p_wei, const void* p_out);
conv::BwdDataPlan make_plan(const BwdDataKernel&, const BwdDataArgument&);
std::size_t bwd_data_workspace_size(const BwdDataKernel&, const BaseArgument*);
// What Run launches.
LaunchPlan plan_launch(const BwdDataKernel&, const BaseArgument&);
float run_bwd_data(const BwdDataKernel&, const BaseArgument*, const StreamConfig&);

// CK's type string from the numbers CK prints.
struct BwdDataTypeFields {
    const char* class_name;
    int block_size, m_per_block, n_per_block, k_per_block, k1;
    ConvSpec conv_spec;
    int m_per_xdl, m_xdl_per_wave, n_xdl_per_wave, a_src, b_src;
};
std::string bwd_data_type_string(const BwdDataTypeFields&);

}  // namespace ckgen::tensor_operation::device
