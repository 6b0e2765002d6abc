// Parts of the planning of backward data that bwd_data_plan.cpp calls in other source files.
#pragma once

#include <array>

#include "ckgen/plan/bwd_data_plan.hpp"

namespace ckgen::conv {

// The same convolution with the positions of all images as one dimension. Valid if images follow each other in memory.
struct Pointwise {
    bool possible = true;
    int64 stride = 0;  // elements from one position to the next

    // `lengths`: those of a tensor without broadcast. `order`: that of the instance's tensors.
    Pointwise(const Tensor& tensor, const std::array<int64, 6>& lengths, int ndim, const MemoryOrder& order) {
        int64 inner = 1;
        bool first = true;
        for(int index : {5, 4, 3, 1}) {
            if(index > 2 + ndim || lengths[index] == 1 || (index == 1 && !joins_images(order, ndim)))
                continue;
            if(first)
                stride = tensor.strides[index];
            possible = possible && tensor.strides[index] == stride * inner;
            inner *= lengths[index];
            first = false;
        }
    }

    // True if positions of all images make one dimension; else those of each image make one.
    static bool joins_images(const MemoryOrder& order, int ndim) {
        return channels_last(order.in, ndim) && channels_last(order.out, ndim);
    }
};

// The caller has checked that it fits.
inline int32 position_stride(int64 stride) { return static_cast<int32>(stride); }

// Refuses joined positions that are too far apart for position_stride(): those of images of one position, for example.
std::string check_position_stride(const std::string& name, const Pointwise& positions, int bytes);

// The rows of GEMM-M per image of a kernel with any_planes.
int32 shifted_rows(const Problem& p, int elem_bytes);

// Refuses planes of the output in which vectors of positions that taps shift cannot be loaded.
std::string check_row_vectors(const BwdDataTraits& t, const Problem& p);

// A problem and its D tensors.
struct BwdDataProblem {
    Problem problem;
    Fusion fusion;
};
// The problem in which several groups are one group of all their channels, if the instance merges groups and they are
// side by side in every tensor; the last may lack some.
BwdDataProblem with_merged_groups(const BwdDataTraits& t, const Problem& p, const Fusion& fusion);
// Sizes that tell merged groups apart. `merged`: the result of with_merged_groups().
MergedInputGroups merged_input_groups(const Problem& p, const Problem& merged);
// The vectors of the output and of the input may reach over merged groups, those of the weight may not.
std::string check_group_vectors(const BwdDataTraits& t, const Problem& p, const Problem& merged, const Addresses& at);

// Sets all values of one dimension.
void set_dimension(BwdDataArgs& a, const Problem& p, int d);

// Family col2im: replaces `p` by the problem whose products the kernel computes, with the columns of conv/col2im.hpp as
// channels, and sets them and the copy of the weight. Returns the reason for a refusal.
std::string plan_columns(BwdDataPlan& plan, const BwdDataTraits& t, Problem& p);

// Positions of the largest class of a dimension, as a tile counts them; `least`: of the smallest.
struct Counted {
    int least, most;

    Counted(const BwdDataArgs& a, const BwdDataTraits& t, int ndim, int d);
};
// True if no tap reaches some position.
bool has_positions_without_taps(const BwdDataArgs& a, int ndim);
// Number of taps of the sub-GEMM that has most.
int64 most_taps(const BwdDataArgs& a, int ndim);
// True if tiles meet padding in all rows under at least a sixteenth of the taps of the first dimension, which pays for
// finding them. A tile of neighbouring rows has `span` or one more indices of the dimension; the estimate takes `span`.
bool skips_taps(const BwdDataArgs& a, const BwdDataTraits& t, int ndim);

// A pointwise instance refuses D tensors whose positions do not follow each other.
std::string check_d_positions(const BwdDataTraits& t, const Problem& p, const Fusion& fusion);
BwdDataTensor d_tensor(const BwdDataTraits& t, const DTensorTraits& traits, const Problem& p, const DTensor& d);

// With TMA: number of channels of a tap per tile of GEMM-K: 128 bytes, or a smaller multiple of 32 bytes that fits K
// better. With several groups it divides K, because the channels of the next group follow those of a group.
int copied_rows(const BwdDataTraits& t, const Problem& p);
// Refuses problems that tensor maps cannot describe.
std::string check_tensor_maps(const BwdDataTraits& t, const Problem& p, const BwdDataArgs& a);
// True if the output is first repacked to rows that TMA can address; its strides in the plan are then those of the
// copy.
bool needs_repack(const BwdDataTraits& t, const Problem& p);
std::string plan_repack(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p);

// For persistent kernels: the split_k that a run uses (the problem's own, or for -1 that of split_to_fill()), and the
// units of work.
int persistent_split_k(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int compute_units);
BwdDataUnits units_of(const BwdDataTraits& t, const BwdDataArgs& a, int split_k, int compute_units);

}  // namespace ckgen::conv
