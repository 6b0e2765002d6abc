// Copied by ckgen from templates/include/ckgen/plan/bwd_data_plan.hpp. Do not edit; run: ckgen generate
// Host-side planning of backward data: checks if the problem is supported, chooses the split, computes the kernels'
// arguments.
#pragma once

#include <vector>

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/conv/col2im.hpp"
#include "ckgen/conv/depthwise_boxes.hpp"
#include "ckgen/conv/streaming.hpp"
#include "ckgen/plan/plan.hpp"

namespace ckgen::conv {

struct BwdDataPlan;

// Properties of an instance of backward data that planning reads.
struct BwdDataTraits : InstanceTraits {
    // Planner of a family that divides its work in its own way, else null. It finds the problem checked and the
    // arguments set that do not depend on tiles; it returns the reason for a refusal.
    std::string (*plan_family)(BwdDataPlan&, const BwdDataTraits&, const Problem&, const Fusion&, const Addresses&,
                               int compute_units);
    int resident;     // workgroups per compute unit, of kernels whose number of workgroups depends on it
    int consumers;    // tiles in flight per such workgroup
    int weight_rows;  // rows of GEMM-K that stay in LDS while such a workgroup processes neighbouring tiles, else 0
    DepthwiseBoxLimits boxes;   // family depthwise_tma
    bool sums_columns;          // family col2im
    StreamingLimits streaming;  // family streaming
    bool transposes_weight;     // true if the kernel reads a copy of the weight with the output channels innermost
    int weight_parts;           // of that copy: WeightCopyArgs::parts
};

struct BwdDataPlan : Plan<BwdDataArgs> {
    BwdDataUnits units{};         // persistent kernels only
    Col2im columns{};             // family col2im only
    DepthwiseStripWork strips{};  // family depthwise only
    DepthwiseBoxes boxes{};       // family depthwise_tma only
    StreamingWork streaming{};    // family streaming only
    std::vector<BwdDataTensor> d;
};

BwdDataPlan make_plan(const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion,
                      const Addresses& addresses, int compute_units);

// The planners of families halo, depthwise, depthwise_tma and streaming: see BwdDataTraits.
std::string plan_halo(BwdDataPlan& plan, const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion,
                      const Addresses& addresses, int compute_units);
std::string plan_depthwise(BwdDataPlan& plan, const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion,
                           const Addresses& addresses, int compute_units);
std::string plan_depthwise_boxes(BwdDataPlan& plan, const BwdDataTraits& traits, const Problem& problem,
                                 const Fusion& fusion, const Addresses& addresses, int compute_units);
std::string plan_streaming(BwdDataPlan& plan, const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion,
                           const Addresses& addresses, int compute_units);

// Workgroups of the main kernel; for persistent kernels an upper bound.
int64 grid_size(const BwdDataArgs& args);

}  // namespace ckgen::conv
