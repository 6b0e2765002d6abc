// Kernel arguments of grouped convolution backward data. plan/bwd_data_plan.hpp fills them on the host.
//
// The positions of a dimension fall into classes: the same taps reach all positions of one class
// (docs/backward_data.md). With
//     tilde = stride / gcd(stride, dilation)      shift = dilation / gcd(stride, dilation)
// class `first` (below tilde and the filter's length) has positions start + stride * t and taps first + tilde * j. They
// meet at output position origin + t - shift * j. A combination of one class per dimension makes a sub-GEMM per group:
// M = images * positions, N = C, GEMM-K = taps * K, in which the tap is the outer index. Spatial arrays have the order
// of the layout (depth, height, width); unused entries are not read.
#pragma once

#include "ckgen/conv/divider.hpp"
#include "ckgen/conv/tile_schedule.hpp"

namespace ckgen::conv {

// The most sub-GEMMs of a kernel that has one tensor map per sub-GEMM: stride 2 in three dimensions.
inline constexpr int kMostSubGemms = 8;

// Strides of a tensor of the input's shape, in elements: from one group, image, position or channel to the next. A
// stride is 0 where a D tensor has the same value along a dimension. With channels last the channel stride is 1 and is
// not read.
struct InputStrides {
    int64 group, image;
    int32 position[3];
    int32 channel;
};

// Neighbouring groups that are computed as one GEMM, whose B is zero outside the blocks on the diagonal: rows of a tap
// are the groups' K channels, columns their C channels. n and k of the plan count the channels of all of them.
struct MergedInputGroups {
    int32 k, c;            // channels per group
    int32 last_k, last_c;  // channels of the last merged group, which may have fewer groups
    Divider by_c;
};

struct BwdDataArgs {
    const char* out;
    const char* wei;
    char* target;
    float* partial;  // partial sums of all splits when split_k > 1; else null, and `target`, the input, is written

    int32 n, k;  // channels C and K per group
    int32 images, groups, split_k;
    int32 n_tiles, m_tiles;    // m_tiles: of the largest sub-GEMM
    int32 sub_gemms;           // number of sub-GEMMs
    int32 tiles_without_taps;  // tiles over all positions, which write the positions without a tap; 0 if there are none
    uint32 blocks_with_taps;   // workgroups before those of tiles_without_taps
    int32 k_chunks;            // tiles of GEMM-K per tap; 1 for short taps,
    int32 tile_taps;           // of which a tile has several
    int32 tap_rows;            // rows of GEMM-K per tap in a tile: k_per_block / tile_taps
    int32 skips_taps;          // 1: tiles skip taps of the first dimension that meet padding in all of their rows
    int32 wei_c_bytes;         // bytes from one channel C to the next, where they are not last

    int64 out_group_bytes, out_image_bytes, out_stride_bytes[3];
    int32 out_k_bytes;     // bytes from one channel to the next
    int64 out_back_bytes;  // how far before the first tap of its first row a tile may read
    int64 wei_group_bytes, wei_k_bytes, wei_stride_bytes[3];
    InputStrides in;
    InputStrides partial_strides;  // [group][image][position][c]
    int64 partial_elements;        // per split: all positions, including those without a tap

    int32 filter[3], stride[3], dilation[3], pad[3];
    int32 out_length[3], in_length[3];
    int32 positions;                      // of an image, where its rows of GEMM-M are a multiple of a box of positions
    int32 common[3], tilde[3], shift[3];  // common: gcd(stride, dilation)
    int32 inverse[3];                     // inverse of shift modulo tilde: gives the class of a position
    MergedInputGroups merged;             // only instances that merge groups read it
};

// The number of K and C channels of a tile. Merges: it has those of several groups; the last tile has fewer groups if
// their number is not a multiple.
template <bool Merges>
struct TileChannels {
    template <class Tile>
    CKGEN_HD TileChannels(const BwdDataArgs&, const Tile&) {}
    CKGEN_HD int k(const BwdDataArgs& args) const { return args.k; }
    CKGEN_HD int n(const BwdDataArgs& args) const { return args.n; }
};
template <>
struct TileChannels<true> {
    template <class Tile>
    CKGEN_HD TileChannels(const BwdDataArgs& args, const Tile& tile)
        : last_(tile.group == args.groups - 1), k_(last_ ? args.merged.last_k : args.k) {}
    CKGEN_HD int k(const BwdDataArgs&) const { return k_; }
    CKGEN_HD int n(const BwdDataArgs& args) const { return last_ ? args.merged.last_c : args.n; }

private:
    bool last_;
    int k_;  // a main loop that chooses between the arguments again waits for a vector load
};

// One sub-GEMM, as kernels take it.
struct SubGemm {
    int32 start[3], count[3];  // positions start + stride * t of each dimension
    int32 origin[3], taps[3], first[3];
    Divider by[3];  // divisors: count
    int32 rows;     // M
    int32 all_taps;
};

// The tiles of all sub-GEMMs, for persistent kernels. The host precomputes the divisors: an integer division takes
// longer than a short tile can hide. Positions without a tap form further sub-GEMMs with an empty GEMM-K, one per
// combination of the dimensions' residues modulo the stride. Their tiles come last; residues that do have taps get no
// tile.
struct BwdDataUnits {
    TileSchedule schedule;
    int32 first;              // first tile index of the schedule; after the last tile it continues with tile 0
    int32 tiles;              // of all sub-GEMMs
    int32 row_overlap;        // rows that a tile has in common with the next: family col2im only
    int32 k_tiles_per_chunk;  // tiles of GEMM-K per sum of the matrix unit
    int32 sub_gemm_count;     // sub-GEMMs, including those without a tap
    Divider n_tiles, groups, m_tiles, all_sub_gemms;
    SubGemm sub_gemms[kMostSubGemms];
};

struct BwdDataTensor {
    const char* data;
    InputStrides strides;
};

// The class of dimension d that tap `first` (below tilde and the filter's length) belongs to.
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

// The number of the class of position `i` in dimension d, or -1 if no tap reaches it.
CKGEN_HD int class_of(const BwdDataArgs& args, int d, int i) {
    const uint32 at = static_cast<uint32>(i + args.pad[d]);
    const uint32 common = static_cast<uint32>(args.common[d]);
    const uint32 tilde = static_cast<uint32>(args.tilde[d]);
    const uint32 first = at / common % tilde * static_cast<uint32>(args.inverse[d]) % tilde;
    return at % common == 0 && first < static_cast<uint32>(args.filter[d]) ? static_cast<int>(first) : -1;
}

}  // namespace ckgen::conv

namespace ckgen {

// The kernel's argument: the plan, and the arguments of the function. It inherits from the plan so that the plan is at
// offset 0.
template <class Function, int DTensors>
struct BwdDataKernelArgs : conv::BwdDataArgs {
    Function function;
    conv::BwdDataTensor d[max_of(1, DTensors)];
};

}  // namespace ckgen
