// Kernel arguments of grouped convolution backward data, filled by plan/bwd_data_plan.hpp on the host.
//
// The positions of a dimension fall into classes by what taps see them (docs/backward_data.md). With
//     tilde = stride / gcd(stride, dilation)      shift = dilation / gcd(stride, dilation)
// class `first` (below tilde and the filter's length) has positions start + stride * t and taps first + tilde * j,
// which meet at output position origin + t - shift * j. A class of each dimension makes one GEMM of a group: M = images
// * positions, N = C, GEMM-K = taps * K, taps outside. Spatial arrays are ordered as in the layout (depth, height,
// width); unused entries are not read.
#pragma once

#include "ckgen/conv/divider.hpp"
#include "ckgen/conv/tile_schedule.hpp"

namespace ckgen::conv {

// Of a kernel with a tensor map for each, of all dimensions together: stride 2 in three of them.
inline constexpr int kMostClasses = 8;

// Where a tensor of the input's shape has its elements: from one group, image, position or channel to the next, in
// elements; 0 where a D tensor has the same value along a dimension. Where channels come last their 1 is not read.
struct InputStrides {
    int64 group, image;
    int32 position[3];
    int32 channel;
};

struct BwdDataArgs {
    const char* out;
    const char* wei;
    char* target;
    float* partial;  // of all splits when split_k > 1, else null and `target`, the input, is written

    int32 n, k;  // channels C and K of a group
    int32 images, groups, split_k;
    int32 n_tiles, m_tiles;  // m_tiles: of the largest class
    int32 classes;           // of all dimensions together
    int32 tapless_tiles;     // tiles of all positions, whose part without taps they write; 0 where there is none
    uint32 tapped_blocks;    // workgroups before those of tapless_tiles
    int32 k_chunks;          // tiles of GEMM-K a tap; where taps are short 1, and
    int32 tile_taps;         // a tile has several
    int32 tap_rows;          // rows of GEMM-K that a tap has in a tile: k_per_block / tile_taps

    int64 out_group_bytes, out_image_bytes, out_stride_bytes[3];
    int32 out_k_bytes;     // from one channel to the next
    int64 out_back_bytes;  // how far before its first row's first tap a tile may read
    int64 wei_group_bytes, wei_k_bytes, wei_stride_bytes[3];
    InputStrides in;
    InputStrides partial_strides;  // [group][image][position][c]
    int64 partial_elements;        // of a split: all positions, also those without a tap

    int32 filter[3], stride[3], dilation[3], pad[3];
    int32 out_length[3], in_length[3];
    int32 common[3], tilde[3], shift[3];  // common: gcd(stride, dilation)
    int32 inverse[3];                     // of shift, modulo tilde: which class a position is in
};

// A class of positions of all dimensions together, as a kernel takes it.
struct SubGemm {
    int32 start[3], count[3];  // positions start + stride * t of a dimension
    int32 origin[3], taps[3], first[3];
    Divider by[3];  // of count
    int32 rows;     // M
    int32 all_taps;
};

// How a persistent kernel goes through the tiles of all classes. What divides them is worked out beforehand: a division
// takes longer than a short tile leaves time for. Positions without a tap are classes too, whose tiles come last: one
// for each residue of the stride in each dimension, of which those that have taps are empty.
struct BwdDataUnits {
    TileSchedule schedule;
    int32 first;              // number of the tile that the schedule begins with; past the last follows the first
    int32 tiles;              // of all classes
    int32 k_tiles_per_chunk;  // tiles of GEMM-K that the matrix unit sums by itself
    int32 class_count;        // with the residues of the stride, where positions have no tap
    Divider n_tiles, groups, m_tiles, all_classes;
    SubGemm classes[kMostClasses];
};

struct BwdDataTensor {
    const char* data;
    InputStrides strides;
};

// The positions of dimension d that tap `first`, below tilde and the filter's length, sees, and what else sees them.
struct AxisClass {
    int32 start, count;  // positions start + stride * t
    int32 origin, taps;
};
CKGEN_HD AxisClass class_of_tap(const BwdDataArgs& args, int d, int first) {
    AxisClass seen;
    const int stride = args.stride[d];
    const int ahead = first * args.dilation[d] - args.pad[d];
    const int rest = ahead % stride;
    seen.start = rest + (rest < 0 ? stride : 0);
    seen.origin = (seen.start - ahead) / stride;
    seen.count = (args.in_length[d] - seen.start + stride - 1) / stride;
    seen.count = seen.start < args.in_length[d] ? seen.count : 0;
    seen.taps = (args.filter[d] - first + args.tilde[d] - 1) / args.tilde[d];
    return seen;
}

// The number of the class of position `i` in dimension d, or -1 if no tap sees it.
CKGEN_HD int class_of(const BwdDataArgs& args, int d, int i) {
    const uint32 at = static_cast<uint32>(i + args.pad[d]);
    const uint32 common = static_cast<uint32>(args.common[d]);
    const uint32 tilde = static_cast<uint32>(args.tilde[d]);
    const uint32 first = at / common % tilde * static_cast<uint32>(args.inverse[d]) % tilde;
    return at % common == 0 && first < static_cast<uint32>(args.filter[d]) ? static_cast<int>(first) : -1;
}

}  // namespace ckgen::conv

namespace ckgen {

// The kernel's argument: the plan, and what the function needs. Derives from the plan, which so comes first.
template <class Function, int DTensors>
struct BwdDataKernelArgs : conv::BwdDataArgs {
    Function function;
    conv::BwdDataTensor d[max_of(1, DTensors)];
};

}  // namespace ckgen
