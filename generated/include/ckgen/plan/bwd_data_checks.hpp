// Copied by ckgen from templates/include/ckgen/plan/bwd_data_checks.hpp. Do not edit; run: ckgen generate
// Parts of the planning of backward data: what bwd_data_plan.cpp asks the other sources.
#pragma once

#include <array>

#include "ckgen/plan/bwd_data_plan.hpp"

namespace ckgen::conv {

inline constexpr int64 kMostRows = 0x7fffffff - 4096;  // leaves room for the rows of a tile past the last

// The same convolution with the positions of all images as one dimension, where they follow each other.
struct Pointwise {
    bool possible = true;
    int64 stride = 0;  // elements from a position to the next

    // `lengths`: those of a tensor that is not broadcast.
    Pointwise(const Tensor& tensor, const std::array<int64, 6>& lengths, int ndim) {
        int64 inner = 1;
        bool first = true;
        for(int index : {5, 4, 3, 1}) {
            if(index > 2 + ndim || lengths[index] == 1)
                continue;
            if(first)
                stride = tensor.strides[index];
            possible = possible && tensor.strides[index] == stride * inner;
            inner *= lengths[index];
            first = false;
        }
    }
};

// Checked to fit.
inline int32 position_stride(int64 stride) { return static_cast<int32>(stride); }

// Inside an image, 31 bits hold the strides in bytes.
std::string check_inner_strides(const std::string& name, const Tensor& tensor, int ndim, int bytes);

// Taps of the class that has most of them.
int64 most_taps(const BwdDataArgs& a, int ndim);

// D tensors and scalars against the function's.
std::string check_fusion(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, const void* in);
BwdDataTensor d_tensor(const DTensorTraits& traits, const Problem& p, const DTensor& d, bool pointwise);

// With TMA: how many channels of a tap a tile of GEMM-K has, 64 or a smaller multiple of 16 that fits K
// better; with several groups it divides K, for behind a group's channels are those of the next.
int copied_rows(const Problem& p);
// Refuses what tensor maps cannot describe.
std::string check_tensor_maps(const BwdDataTraits& t, const Problem& p, const BwdDataArgs& a);
// Whether the output is copied to rows that TMA can address, which its strides in `a` then are.
bool needs_repack(const BwdDataTraits& t, const Problem& p);
void set_repacked_strides(BwdDataArgs& a, const RepackArgs& copy, const BwdDataTraits& t, const Problem& p);

// Of family halo: what it takes, and its workgroups.
std::string plan_halo(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, int compute_units);

// Of a persistent kernel: the split_k that a run uses, the problem's own or for -1 fill_waves(), and its units of work.
int split_of_units(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int compute_units);
BwdDataUnits units_of(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int split_k, int compute_units);

}  // namespace ckgen::conv
