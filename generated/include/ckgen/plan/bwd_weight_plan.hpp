// Copied by ckgen from templates/include/ckgen/plan/bwd_weight_plan.hpp. Do not edit; run: ckgen generate
// Host-side planning for backward weight: is the problem supported, how is it split, what do the kernels get.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/plan/plan.hpp"

namespace ckgen::conv {

// What planning of backward weight needs to know of an instance.
struct BwdWeightTraits : InstanceTraits {
    int groups_per_block = 1;
};

using BwdWeightPlan = Plan<BwdWeightArgs>;

BwdWeightPlan make_plan(const BwdWeightTraits& traits, const Problem& problem, const Addresses& addresses,
                        int compute_units);

// The split_k that a run uses: the problem's own, or for -1 the planner's choice. Kernels that make one sum of a split
// get no fewer splits than sums().
//
// Most kernels, for -1: fill_twice().
//
// Family halo: as many as give every compute unit one workgroup.
//
// Persistent kernels: fill_waves().
int resolve_split_k(const BwdWeightTraits& traits, const Problem& problem, int compute_units);

// share_tiles() of a persistent kernel.
TileSchedule tile_schedule(const BwdWeightTraits& traits, const Problem& problem, int split_k, int compute_units);

// sums_of() the GEMM-K of a problem.
int64 sums(const BwdWeightTraits& traits, const Problem& problem);

// With TMA: how many tiles of GEMM-K are one such sum, when split_k workgroups share them.
int64 summed_tiles(const BwdWeightTraits& traits, const Problem& problem, int split_k);

// With family halo: the steps, or strips, of all images; 0 where rows are too long for its shared memory.
int64 halo_steps(const BwdWeightTraits& traits, const Problem& problem);

// Bytes of the f32 partials; -1 where 63 bits do not hold them.
int64 partial_bytes(const BwdWeightTraits& traits, const Problem& problem, const BwdWeightArgs& args,
                    int compute_units);

// Whether the output is copied first; see repack_args(). Every row is read for a few tiles only, so that longer rows
// cost more than lines that are shared.
inline constexpr double kMostPadding = 1. / 8.;
bool needs_repack(const BwdWeightTraits& traits, const Problem& problem);

// For kernels that read a copy of the output, the strides are those of the copy.
BwdWeightArgs make_args(const BwdWeightTraits& traits, const Problem& problem, int split_k, int compute_units);

// Workgroups of the main kernel; of persistent ones, an upper bound.
int64 grid_size(const BwdWeightArgs& args);

}  // namespace ckgen::conv
