// Copied by ckgen from templates/include/ckgen/plan/plan.hpp. Do not edit; run: ckgen generate
// Types that the planning of every operation shares: the traits of an instance and the plan of a problem.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ckgen/config/layout.hpp"
#include "ckgen/conv/depthwise.hpp"
#include "ckgen/conv/fusion.hpp"
#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/plan/problem_checks.hpp"
#include "ckgen/plan/repack_plan.hpp"

namespace ckgen::conv {

// Properties of a D tensor of an instance that planning reads.
struct DTensorTraits {
    const char* layout;
    int bytes;  // per element
    bool channels_last, one_a_channel;
};

// Properties of an instance of any operation that planning reads, as values.
struct InstanceTraits {
    int ndim;
    MemoryOrder order;
    Roles roles;
    ConvSpec conv_spec;
    int m_per_block, n_per_block, k_per_block;
    int tiles_per_half;  // split boundaries are multiples of this many GEMM-K tiles
    int a_vector, b_vector, c_vector;
    int row_vector = 1;             // backward data: a_vector where taps shift vectors of positions
    bool copies_weight = false;     // backward data: if its channels come first or do not fill vectors
    bool aligns_weight = false;     // backward data: and if tiles often read rows that do not begin at cache lines
    bool copies_input = false;      // backward weight: if its rows do not begin at multiples of 16 bytes
    bool one_tap_tiles = false;     // backward data: no tile of GEMM-K has several taps
    int elem_bytes, written_bytes;  // per element that is read, and per element that is written
    int compute_bytes;              // per element of an operand in LDS
    int launch_threads;
    bool truncates;              // the matrix unit rounds partial sums toward zero
    bool tma;                    // TMA loads the tiles: tensor maps have limits of their own and need no windows
    bool any_planes = false;     // threads load the tiles: any number of positions side by side, or of channels
    bool persistent;             // workgroups take tiles in turn
    bool splits_to_fill = true;  // split_k -1 gives every compute unit work; false: it splits no more than sums require
    int groups_to_merge = 1;     // groups that a workgroup computes as one where they are side by side
    bool exchange = false;       // backward weight: the input is A and the output B, see exchanged()
    HaloLimits halo;             // family halo: a workgroup computes all taps
    DepthwiseLimits depthwise;
    int lds_bytes;  // per workgroup
    std::vector<DTensorTraits> d;
    int scalars;  // of the function

    // TMA copies boxes of neighbouring positions of an image: pointwise filters, channels not last.
    bool copies_planes() const { return tma && !channels_last(order.in, ndim); }
    // Dimensions of positions that a kernel of backward data distinguishes.
    int kernel_ndim() const { return conv_spec == ConvSpec::Filter1x1Stride1Pad0 ? 1 : ndim; }
    bool is_halo() const { return halo.lds_bytes > 0; }
    bool is_depthwise() const { return depthwise.vector > 0; }
};

// The traits that follow from an instance in the same way for every family. D: the Config with its derived values.
// Operation: its struct in ckgen/op.
template <class D, class Operation>
InstanceTraits common_traits() {
    InstanceTraits traits{};
    traits.ndim = D::Layout::ndim;
    traits.order = MemoryOrder::of<typename D::Layout>(Operation::packed_output);
    traits.roles = Operation::roles;
    traits.conv_spec = D::conv_spec;
    traits.m_per_block = D::m_per_block;
    traits.n_per_block = D::n_per_block;
    traits.k_per_block = D::k_per_block;
    traits.tiles_per_half = 1;
    traits.a_vector = D::a_vector;
    traits.b_vector = D::b_vector;
    traits.c_vector = D::c_vector;
    traits.elem_bytes = D::elem_bytes;
    traits.written_bytes = D::c_bytes;
    traits.compute_bytes = sizeof(typename D::ComputeA);
    traits.launch_threads = D::launch_threads;
    traits.lds_bytes = D::lds_bytes;
    traits.truncates =
        kTruncates && !IsSame<typename D::ComputeA, float>::value && !IsSame<typename D::ComputeA, int8>::value;
    return traits;
}

// Everything that is known before memory is allocated: computed once per problem, used by every run.
template <class Args_>
struct Plan {
    using Args = Args_;
    std::string reason;  // empty if the instance takes the problem; else the rest has no meaning
    int split_k = 1;     // the value that is used, even if the problem asks for -1
    Workspace workspace;
    Args args{};  // without pointers
    // The copies that the workspace has a place for; without pointers.
    RepackArgs copy{}, in_copy{};  // of the output and of the input
    WeightCopyArgs weight_copy{};
};

// Addresses of the tensors. Null stands for memory that is not allocated yet.
struct Addresses {
    const void* in;
    const void* wei;
    const void* out;

    const void*& of(TensorName name) { return name == TensorName::in ? in : name == TensorName::wei ? wei : out; }
    const void* of(TensorName name) const { return Addresses(*this).of(name); }
};

// A tensor's name in sentences: "input", "weight" or "output".
const char* word_of(TensorName tensor);

// Checks of every operation before sizes are multiplied: dimensions, layout and split_k.
std::string check_problem(const InstanceTraits& traits, const Problem& problem);
// Refuses a problem that is not a pointwise convolution, if the instance takes only those.
std::string check_pointwise(const InstanceTraits& traits, const Problem& problem);
// True if the main kernel reads a copy of the weight. Without taps and with whole vectors of channels, channels that
// come first are already side by side.
bool copies_weight(const InstanceTraits& traits, const Problem& problem);
// Refuses channels, strides and addresses that are not multiples of the vectors.
std::string check_vectors(const InstanceTraits& traits, const Problem& problem, const Addresses& addresses);

// Refuses a dimension that a tensor map in im2col order cannot describe: the corners of the box that the first tap
// reads are too far outside the image, or another tap is too far from the first.
std::string check_walk(int ndim, int dimension, int64 lowest_corner, int64 highest_corner, int64 tap);
// Refuses a tensor whose images or groups are too far apart for the tensor map of its planes.
std::string check_planes(const InstanceTraits& traits, const Tensor& tensor);
inline constexpr char kFarGroups[] = "the channels of all groups of a position reach over more than 2^31 elements";

}  // namespace ckgen::conv
