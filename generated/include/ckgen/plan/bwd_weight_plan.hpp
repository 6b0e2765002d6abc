// Copied by ckgen from templates/include/ckgen/plan/bwd_weight_plan.hpp. Do not edit; run: ckgen generate
// Host-side planning for backward weight: is the problem supported, how is it split, what do the kernels get.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/plan/problem_checks.hpp"
#include "ckgen/plan/repack_plan.hpp"

namespace ckgen::conv {

// What planning needs to know of an instance, as values.
struct BwdWeightTraits {
    int ndim;
    bool groups_outermost;
    ConvSpec conv_spec;
    int m_per_block, n_per_block, k_per_block;
    int tiles_per_half;  // split boundaries are multiples of this many k tiles
    int a_vector, b_vector, c_vector;
    int elem_bytes, wei_bytes;
    int launch_threads;
    bool copy_engine;  // tiles come through tensor maps, which have limits of their own and need no windows
    bool persistent;   // a workgroup a compute unit takes tiles in turn
    bool truncates;    // the matrix unit rounds partial sums toward zero
    int groups_per_block = 1;
    HaloLimits halo{};  // of family halo: a workgroup has all taps, and tiles of GEMM-K are steps of rows

    bool is_halo() const { return halo.positions > 0; }
};

// The traits that follow from an instance in the same way for every family.
template <class D>
constexpr BwdWeightTraits common_traits() {
    return {D::Layout::ndim,
            D::Layout::groups_outermost,
            D::conv_spec,
            D::m_per_block,
            D::n_per_block,
            D::k_per_block,
            1,
            D::a_vector,
            D::b_vector,
            D::c_vector,
            D::elem_bytes,
            D::wei_bytes,
            D::launch_threads,
            false,
            false,
            kTruncates && D::elem_bytes == 2};
}

// Everything that is known before memory is: made once for a problem, used by every run.
struct BwdWeightPlan {
    std::string reason;  // empty if the instance takes the problem; else nothing below is set
    int split_k = 1;     // what is used, also where the problem asks for -1
    Workspace workspace{};
    BwdWeightArgs args{};  // without pointers
    RepackArgs copy{};     // without pointers, where workspace.copy_bytes is not 0
};

// Pointers may be null (not yet allocated); others must be aligned.
BwdWeightPlan make_plan(const BwdWeightTraits& traits, const Problem& problem, const void* in, const void* wei,
                        const void* out, int compute_units);

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

// With a copy engine: how many tiles of GEMM-K are one such sum, when split_k workgroups share them.
int64 summed_tiles(const BwdWeightTraits& traits, const Problem& problem, int split_k);

// With family halo: the steps, or strips, of all images; 0 where rows are too long for its shared memory.
int64 halo_steps(const BwdWeightTraits& traits, const Problem& problem);

Workspace workspace_of(const BwdWeightTraits& traits, const Problem& problem, const BwdWeightArgs& args,
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
