// Host-side planning for backward data: is the problem supported, how is it split, what do the kernels get.
#pragma once

#include <vector>

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/conv/fusion.hpp"
#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/plan/problem_checks.hpp"
#include "ckgen/plan/repack_plan.hpp"

namespace ckgen::conv {

// What planning needs to know of a D tensor of an instance.
struct DTensorTraits {
    const char* layout;
    int bytes;  // of an element
    bool channels_last, one_a_channel;
};

// What planning needs to know of an instance, as values.
struct BwdDataTraits {
    int ndim;
    bool groups_outermost, channels_last;
    ConvSpec conv_spec;
    int m_per_block, n_per_block, k_per_block, k1;
    int tiles_per_half;  // a split takes a multiple of this many k tiles
    int a_vector, b_vector, c_vector;
    int elem_bytes, in_bytes;
    int launch_threads;
    bool truncates;  // the matrix unit rounds partial sums toward zero
    std::vector<DTensorTraits> d;
    int scalars;       // of the function
    bool copy_engine;  // tiles come through tensor maps, which have limits of their own and need no windows
    bool persistent;   // `resident` workgroups a compute unit take tiles in turn
    int resident;
    int consumers;    // tiles that such a workgroup has under way
    int weight_rows;  // of GEMM-K that stay in LDS while such a workgroup goes through neighbouring tiles, else 0
    HaloLimits halo;  // of family halo

    bool is_halo() const { return halo.lds_bytes > 0; }
};

// Everything that is known before memory is: made once for a problem, used by every run.
struct BwdDataPlan {
    std::string reason;  // empty if the instance takes the problem; else nothing below is set
    int split_k = 1;     // what is used, also where the problem asks for -1
    Workspace workspace;
    BwdDataArgs args{};    // without pointers
    BwdDataUnits units{};  // of persistent kernels
    RepackArgs copy{};     // without pointers, where workspace.copy_bytes is not 0
    std::vector<BwdDataTensor> d;
};

// Pointers may be null (not yet allocated); others must be aligned.
BwdDataPlan make_plan(const BwdDataTraits& traits, const Problem& problem, const Fusion& fusion, const void* in,
                      const void* wei, const void* out, int compute_units);

// Workgroups of the main kernel; of persistent ones, an upper bound.
int64 grid_size(const BwdDataArgs& args);

}  // namespace ckgen::conv
