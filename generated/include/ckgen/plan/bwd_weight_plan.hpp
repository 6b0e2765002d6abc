// Copied by ckgen from templates/include/ckgen/plan/bwd_weight_plan.hpp. Do not edit; run: ckgen generate
// Host-side planning of backward weight: checks if the problem is supported, chooses the split, computes the kernels'
// arguments.
#pragma once

#include <vector>

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/plan/plan.hpp"

namespace ckgen::conv {

struct BwdWeightPlan : Plan<BwdWeightArgs> {
    std::vector<BwdWeightTensor> d;
    DepthwiseWork depthwise;
};

// Properties of an instance of backward weight that planning reads.
struct BwdWeightTraits : InstanceTraits {
    int groups_per_block = 1;
    int consumers = 1;  // tiles in flight per workgroup of a persistent kernel
    int cluster = 1;    // its workgroups that share copies; they have neighbouring tiles of GEMM-M, for which tiles are
                        // added where their number is not a multiple
    // Planner of a family without a matrix product, else null. It finds the problem checked; it returns the reason for
    // a refusal.
    std::string (*plan_family)(BwdWeightPlan&, const BwdWeightTraits&, const Problem&, const Addresses&,
                               int compute_units) = nullptr;
};

BwdWeightPlan make_plan(const BwdWeightTraits& traits, const Problem& problem, const Fusion& fusion,
                        const Addresses& addresses, int compute_units);

// The planner of family depthwise.
std::string plan_depthwise(BwdWeightPlan& plan, const BwdWeightTraits& traits, const Problem& problem,
                           const Addresses& addresses, int compute_units);

// The number of groups that a workgroup of family two_stage computes as one: those of the instance, at most all; 1
// where groups are not side by side in memory.
int64 merged_groups(const BwdWeightTraits& traits, const Problem& problem);
// The problem in which every `merged_groups()` groups are one group of all their channels; the last may lack some.
Problem with_merged_groups(const BwdWeightTraits& traits, const Problem& problem);
// The problem whose weight gradient is that of an instance which exchanges input and output. For stride 1, the gradient
//     dWei[k, c, t] = sum over o of dOut[k, o] * In[c, o + t * dilation - pad]
// is also that of the convolution of dOut with flipped taps, whose output is In: with reach = (taps - 1) * dilation,
//     dWei[k, c, taps - 1 - t] = sum over i of In[c, i] * dOut[k, i + t * dilation - (reach - pad)]
// Its K are the channels C, its C are the channels K. For other instances the problem itself.
Problem exchanged(const BwdWeightTraits& traits, const Problem& problem);
// Refuses a problem that has no such exchanged problem: another stride, or pads above (taps - 1) * dilation.
std::string check_exchange(const BwdWeightTraits& traits, const Problem& problem);

// Checks of vectors that depend on merged groups, and of vectors of positions that taps shift.
std::string check_group_vectors(const BwdWeightTraits& traits, const Problem& problem, const Problem& merged,
                                const Addresses& addresses);
std::string check_shifted_vectors(const BwdWeightTraits& traits, const Problem& problem);

// Columns of the tiles per tap: the channels, or with family wavelet_tma whole boxes of 128 bytes of them, and whole
// tiles where these end with a part of a box. A single tap needs neither, as its columns are the last.
int64 tap_columns(const BwdWeightTraits& traits, const Problem& problem);

// Tiles of GEMM-M.
int64 m_tiles(const BwdWeightTraits& traits, const Problem& problem);

// Rows of GEMM-K: all output positions, or where TMA copies planes those of each image in whole tiles.
int64 rows_of_k(const BwdWeightTraits& traits, const Problem& problem);

// The split_k that a run uses: the problem's own, or for -1 the planner's choice. Kernels that compute a split in one
// sum get at least sums() splits. The planner chooses
//   for most kernels fill_twice(),
//   for family halo enough splits to give every compute unit one workgroup,
//   for persistent kernels split_to_fill().
int resolve_split_k(const BwdWeightTraits& traits, const Problem& problem, int compute_units);

// share_tiles() of a persistent kernel.
TileSchedule tile_schedule(const BwdWeightTraits& traits, const Problem& problem, int split_k, int compute_units);

// sums_of() the GEMM-K of a problem.
int64 sums(const BwdWeightTraits& traits, const Problem& problem);

// With TMA: number of GEMM-K tiles per sum, when split_k workgroups share them.
int64 summed_tiles(const BwdWeightTraits& traits, const Problem& problem, int split_k);

// Family halo: number of steps or strips of all images; 0 if rows are too long for its shared memory.
int64 halo_steps(const BwdWeightTraits& traits, const Problem& problem);

// Bytes of the f32 partials; -1 if they exceed 63 bits.
int64 partial_bytes(const BwdWeightTraits& traits, const Problem& problem, const BwdWeightArgs& args,
                    int compute_units);

// Limit of padding for copies of the output and the input; see repack_args(). Each row is read for a few tiles only, so
// longer rows cost more than rows that share a cache line.
inline constexpr double kMostPadding = 1. / 8.;
bool needs_repack(const BwdWeightTraits& traits, const Problem& problem);
// The first axis of the input along which boxes of TMA do not begin at multiples of 16 bytes; -1 if there is none.
int unaligned_input(const BwdWeightTraits& traits, const Problem& problem);
// True if the kernel reads a copy of the input, whose rows do not begin at multiples of 16 bytes.
bool copies_input(const BwdWeightTraits& traits, const Problem& problem);
// The problem with that copy in place of its input.
Problem with_copied_input(const BwdWeightTraits& traits, const Problem& problem);
// Gives both copies a place in the plan's workspace; refuses copies that are too large.
std::string place_copies(BwdWeightPlan& plan, const BwdWeightTraits& traits, const Problem& problem);

// For kernels that read a copy of the output, the strides are those of the copy.
BwdWeightArgs make_args(const BwdWeightTraits& traits, const Problem& problem, int split_k, int compute_units);

// Workgroups of the main kernel; for persistent kernels an upper bound.
int64 grid_size(const BwdWeightArgs& args);

}  // namespace ckgen::conv
