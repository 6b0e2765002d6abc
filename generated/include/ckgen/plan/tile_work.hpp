// Copied by ckgen from templates/include/ckgen/plan/tile_work.hpp. Do not edit; run: ckgen generate
// Splits and schedules the tiles of a persistent kernel, on the host.
#pragma once

#include "ckgen/conv/tile_schedule.hpp"

namespace ckgen::conv {

// The work of a persistent kernel: output tiles with k_tiles each along GEMM-K, and the tile sizes that determine how
// long they take.
struct TileWork {
    int64 tiles;
    int64 k_tiles;
    int m_per_block, n_per_block, k_per_block;
};

// The split_k with the lowest estimated time. A unit takes
//     k_tiles * (40 + 75 * blocks) + 700 + 220 * blocks   nanoseconds
// where blocks is the number of 64x64x64 blocks in a tile of GEMM-K. Units run in rounds of compute_units, and adding n
// bytes of partials takes 2500 + n / 3200. The terms are: the products; filling the pipeline and storing the tile; the
// grid barrier; writing and reading a partial. The constants fit an H200: bench/results/2026-11-21-h200.
int64 split_to_fill(const TileWork& work, int64 compute_units);

// The schedule for split_k. With split_k 1 the tiles of an incomplete last round become stream-K tiles, if other rounds
// precede it; the same estimate chooses their splits, at most 8.
TileSchedule share_tiles(const TileWork& work, int split_k, int compute_units);

// Slots of partials in the workspace. `in_pieces`: the GEMM-K of a data-parallel tile is cut into several sums.
inline int64 partial_slots(const TileSchedule& schedule, bool in_pieces, int compute_units) {
    return int64{schedule.stream_k_tiles} * schedule.splits +
           (schedule.data_parallel_tiles > 0 && in_pieces ? compute_units : 0);
}

}  // namespace ckgen::conv
