// Arguments of load/weight_copy.hpp, which copies a weight to one whose channels come last.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// From packed [rows][channels][taps] to packed [rows][target_taps][pitch]. A workgroup copies tiles of tile_channels x
// tile_taps elements of every row_blocks-th row.
struct WeightCopyArgs {
    const char* source;
    char* target;
    int64 rows;  // output channels of all groups, or groups where the channels are the output's
    int32 row_blocks;
    int32 channels, taps;
    int32 pieces = 1, last_channels;  // the last of `pieces` rows has last_channels channels, the others `channels`
    int32 pitch;                      // elements after `channels` become zero
    int32 target_taps;                // at least `taps`; those after them become zero
    int32 tile_channels, tile_taps;
    int32 elem_bytes;
    int32 parts = 1;  // 2: the copy has the high parts of all f32 elements, then the low ones (atom/tf32_parts.hpp)

    // Elements of the copy, or of each part.
    CKGEN_HD int64 target_elements() const { return rows * target_taps * pitch; }
};

// Elements from one row to the next of a weight whose output channels are innermost: TMA takes multiples of 16 bytes.
inline constexpr int transposed_pitch(int output_channels) { return (output_channels + 3) / 4 * 4; }

// True if a kernel gains by a copy of the weight of backward data whose rows begin at cache lines. Where they do not,
// TMA asks the L2 cache for up to three times as many lines: on an H100 1000 loads of 128 bytes took all
// multiprocessors 16 ns longer, or 4.5 where rows begin at sectors of 32 bytes. The copy takes 2.5 us and 0.4 us per
// megabyte moved. ckgen/families/hopper.py has the same rule. positions: of the output, of all images; tile: those of a
// workgroup.
inline constexpr bool gains_by_aligned_weight(int64 groups, int64 k, int64 c, int64 taps, int64 positions, int tile,
                                              int elem_bytes) {
    const int64 row = c * elem_bytes;
    const double elements = static_cast<double>(groups) * static_cast<double>(k) * static_cast<double>(taps);
    const double loads =
        elements * static_cast<double>((positions + tile - 1) / tile) * static_cast<double>((row + 127) / 128);
    const double bytes = 2. * elements * static_cast<double>(row);
    const double saved = row % 128 == 0 ? 0. : row % 32 == 0 ? 4.5 * loads : 16. * loads;  // picoseconds
    return saved > 2.5e6 + 0.4 * bytes && bytes < 2e9;
}

inline constexpr int kWeightCopyThreads = 256;
inline constexpr int kWeightCopyBlocks = 4096;  // fill every GPU several times
// The most words of LDS of a tile: its elements, and one per channel where the number of its taps is even.
inline constexpr int kWeightCopyElements = 64 * 65;

}  // namespace ckgen::conv
