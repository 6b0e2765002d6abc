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
};

// Elements from one row to the next of a weight whose output channels are innermost: TMA takes multiples of 16 bytes.
inline constexpr int transposed_pitch(int output_channels) { return (output_channels + 3) / 4 * 4; }

inline constexpr int kWeightCopyThreads = 256;
inline constexpr int kWeightCopyBlocks = 4096;  // fill every GPU several times
// The most words of LDS of a tile: its elements, and one per channel where the number of its taps is even.
inline constexpr int kWeightCopyElements = 64 * 65;

}  // namespace ckgen::conv
