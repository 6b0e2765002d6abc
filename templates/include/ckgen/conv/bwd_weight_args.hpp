// Kernel arguments of grouped convolution backward weight. plan/bwd_weight_plan.hpp fills them on the host.
//
// The GEMM of one group: M = K (output channels), N = C * taps, GEMM-K = images * output positions.
//   A[k][m] = dOut(position k, channel m)
//   B[k][n] = In(position k under tap n / C, channel n % C)
// Instances that exchange input and output compute the product of exchanged() (plan/bwd_weight_plan.hpp): its sizes and
// strides are here, so that those of `out` are the input's, which is A, and those of `in` the output's, which is B.
// Spatial arrays have the order of the layout (depth, height, width); unused entries are not read.
#pragma once

#include "ckgen/conv/divider.hpp"
#include "ckgen/conv/tile_schedule.hpp"
#include "ckgen/math.hpp"

namespace ckgen::conv {

inline constexpr int kMaxDims = 3;

// Neighbouring groups that are computed as one GEMM, of which only the blocks on the diagonal are weights: rows are the
// groups' K channels, columns of a tap their C channels, or columns of a C channel its taps.
struct MergedGroups {
    int32 k, c;  // channels per group
    int32 row;   // weights of one output channel
    // by_inner: by the channels of all merged groups, or by the taps; also set for instances that exchange
    Divider by_k, by_c, by_inner;
};

struct BwdWeightArgs {
    const char* out;
    const char* in;
    char* wei;
    float* partial;  // split_k > 1: [split][group][m][n]; persistent kernels: slots; else null and wei is written

    int32 m, n, c, k;  // GEMM sizes per group; c: channels per group; k: GEMM-K
    int32 m_tiles, n_tiles, groups, split_k;
    int32 group_tiles, groups_per_block;  // families halo and two_stage have several groups per workgroup, others one
    int32 k_tiles;                        // tiles of k_per_block that cover GEMM-K
    int32 k_tiles_per_split;
    // Number of consecutive tiles whose offsets fit 31 bits. With TMA: tiles per sum of the matrix unit; after them the
    // sum is added to the partials, and the next sum begins at zero.
    int32 k_tiles_per_chunk;
    int32 in_channel_bytes;  // from one channel to the next, where channels are not last

    int64 out_group_bytes, out_extent_bytes;  // extent: bytes from a group's first element to the end of its last
    int32 out_row_bytes;                      // bytes from one output position to the next
    int32 out_channel_bytes;                  // and from one channel to the next, where channels are not last
    int64 in_group_bytes, in_image_bytes, in_extent_bytes;
    int64 in_stride_bytes[kMaxDims];
    int64 in_reach_bytes;  // how far the taps of a position may lie before it
    int64 wei_group_elements;
    int32 in_row_bytes;  // 1x1 stride 1 pad 0: bytes from one position to the next

    int32 filter[kMaxDims], dilation[kMaxDims], pad[kMaxDims];
    int32 out_length[kMaxDims], in_length[kMaxDims];
    // The next output position is `stride` positions further in the input; see ImageCursor.
    int32 stride[kMaxDims];
    int32 limit[kMaxDims];       // out_length * stride
    int64 wrap_bytes[kMaxDims];  // added to an offset when this dimension carries into the next
    TileSchedule schedule;       // persistent kernels only
    int64 out_image_bytes;       // where channels are not last
    int32 out_positions;         // of an image
    // Columns of all tiles, and of one tap: n and c, or more with family wavelet_tma, whose boxes of 128 bytes of
    // channels belong to one tap each.
    int32 columns, tap_columns;
    MergedGroups merged;  // family two_stage; m, n and c count all groups of a workgroup
};

// Strides of a D tensor, in elements: from one group, output channel K, filter position or input channel C to the next.
// A stride is 0 where the tensor has the same value along a dimension. With channels last the channel stride is 1 and
// is not read.
struct WeightStrides {
    int64 group, k;
    int32 position[kMaxDims];
    int32 channel;
};

struct BwdWeightTensor {
    const char* data;
    WeightStrides strides;
};

}  // namespace ckgen::conv

namespace ckgen {

// The argument of a kernel with a function: the plan, and the arguments of the function.
template <class Function, int DTensors>
struct BwdWeightKernelArgs : conv::BwdWeightArgs {
    Function function;
    conv::BwdWeightTensor d[max_of(1, DTensors)];
};

}  // namespace ckgen
