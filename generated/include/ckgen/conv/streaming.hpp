// Copied by ckgen from templates/include/ckgen/conv/streaming.hpp. Do not edit; run: ckgen generate
// The division of work in family streaming of backward data: host planning and the kernel read the same values.
#pragma once

#include "ckgen/conv/divider.hpp"

namespace ckgen::conv {

// Properties of an instance.
struct StreamingLimits {
    int positions;     // that a warp computes at once
    int warps;         // of a workgroup
    int weight_tiles;  // of k_per_block by n_per_block that LDS holds
};

struct StreamingWork {
    int32 vectors;     // of a_vector positions of an image; with the channels last 1
    int32 n_tiles;     // of n_per_block channels
    int32 units;       // of a group: n_tiles of each tile of `positions` positions
    int32 workgroups;  // of a group
    Divider by_vectors, by_n_tiles, by_workgroups;
};

}  // namespace ckgen::conv
