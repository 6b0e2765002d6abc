// Host-side planning for backward data: is the problem supported, how is it split, what do the kernels get.
#pragma once

#include <vector>

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/plan/plan.hpp"

namespace ckgen::conv {

// What planning of backward data needs to know of an instance.
struct BwdDataTraits : InstanceTraits {
    int resident;     // workgroups of a persistent kernel a compute unit
    int consumers;    // tiles that such a workgroup has under way
    int weight_rows;  // of GEMM-K that stay in LDS while such a workgroup goes through neighbouring tiles, else 0
};

struct BwdDataPlan : Plan<BwdDataArgs> {
    BwdDataUnits units{};  // of persistent kernels
    std::vector<BwdDataTensor> d;
};

BwdDataPlan make_plan(const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion,
                      const Addresses& addresses, int compute_units);

// Workgroups of the main kernel; of persistent ones, an upper bound.
int64 grid_size(const BwdDataArgs& args);

}  // namespace ckgen::conv
