// Copied by ckgen from templates/include/ckgen/conv/bwd_weight_args.hpp. Do not edit; run: ckgen generate
// Kernel arguments of grouped convolution backward weight, filled by plan/bwd_weight_plan.hpp on the host.
//
// The GEMM of one group: M = K (output channels), N = C * taps, GEMM-K = images * output positions.
//   A[k][m] = dOut(position k, channel m)            B[k][n] = In(position k seen through tap n / C, channel n % C)
// Spatial arrays are ordered as in the layout (depth, height, width); unused entries are not read.
#pragma once

#include "ckgen/conv/tile_schedule.hpp"

namespace ckgen::conv {

inline constexpr int kMaxDims = 3;

struct BwdWeightArgs {
    const char* out;
    const char* in;
    char* wei;
    float* partial;  // [split][group][m][n] when split_k > 1, else null and wei is written; persistent kernels: slots

    int32 m, n, c, k;  // GEMM sizes of a group, channels a group, GEMM-K
    int32 m_tiles, n_tiles, groups, split_k;
    int32 group_tiles, groups_per_block;  // a workgroup of family halo has several groups, of others one
    int32 k_tiles;                        // tiles of k_per_block that cover GEMM-K
    int32 k_tiles_per_split;
    // Neighbouring tiles whose offsets fit 31 bits. With TMA: tiles that the matrix unit sums by itself; then
    // its sum is put to the partials, and starts anew.
    int32 k_tiles_per_chunk;

    int64 out_group_bytes, out_extent_bytes;  // extent: bytes from a group's first to past its last element
    int32 out_row_bytes;                      // from one output position to the next
    int64 in_group_bytes, in_image_bytes, in_extent_bytes;
    int64 in_stride_bytes[kMaxDims];
    int64 in_reach_bytes;  // how far before a position its taps may lie
    int64 wei_group_elements;
    int32 in_row_bytes;  // 1x1 stride 1 pad 0: from one position to the next

    int32 filter[kMaxDims], dilation[kMaxDims], pad[kMaxDims];
    int32 out_length[kMaxDims], in_length[kMaxDims];
    // An output position walks through the input in `stride` steps; see ImageCursor.
    int32 stride[kMaxDims];
    int32 limit[kMaxDims];       // out_length * stride
    int64 wrap_bytes[kMaxDims];  // what a carry out of this dimension adds to an offset
    TileSchedule schedule;       // of persistent kernels
};

}  // namespace ckgen::conv
