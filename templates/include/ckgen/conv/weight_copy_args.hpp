// Arguments of load/weight_copy.hpp, which copies a weight whose channels come first to one whose channels come last.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// From packed [rows][channels][taps] to packed [rows][taps][pitch]. A workgroup copies tiles of tile_channels x
// tile_taps elements of every row_blocks-th row.
struct WeightCopyArgs {
    const char* source;
    char* target;
    int64 rows;  // output channels of all groups
    int32 row_blocks;
    int32 channels, taps;
    int32 pitch;  // elements after `channels` become zero
    int32 tile_channels, tile_taps;
    int32 elem_bytes;
};

inline constexpr int kWeightCopyThreads = 256;
inline constexpr int kWeightCopyBlocks = 4096;  // fill every GPU several times
// The most words of LDS of a tile: its elements, and one per channel where the number of its taps is even.
inline constexpr int kWeightCopyElements = 64 * 65;

}  // namespace ckgen::conv
