// Copied by ckgen from templates/include/ckgen/conv/bwd_weight_plan.hpp. Do not edit; run: ckgen generate
// Host-side planning for backward weight: is the problem supported, how is it split, what do the kernels get.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/conv/problem.hpp"

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
    int groups_per_block = 1;
    HaloLimits halo{};  // of family halo: a workgroup has all taps, and GEMM-K goes in steps of rows
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
            false};
}

// Empty if the instance takes the problem. Pointers may be null (not yet allocated); others must be aligned.
std::string unsupported_reason(const BwdWeightTraits& traits, const Problem& problem, const void* in, const void* wei,
                               const void* out);

// The split_k that a run uses: the problem's own, or for -1 one that fills `compute_units`.
int resolve_split_k(const BwdWeightTraits& traits, const Problem& problem, int compute_units);

// Bytes of f32 partials for a resolved split_k; 0 for one.
int64 workspace_bytes(const Problem& problem, int split_k);

BwdWeightArgs make_args(const BwdWeightTraits& traits, const Problem& problem, int split_k);

// Workgroups of the main kernel.
int64 grid_size(const BwdWeightArgs& args);

}  // namespace ckgen::conv
