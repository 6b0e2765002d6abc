// Copied by ckgen from templates/include/ckgen/conv/tile_schedule.hpp. Do not edit; run: ckgen generate
// The stream-K schedule by which persistent workgroups share the output tiles of a kernel.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// A stream-K schedule of output tiles with a data-parallel part. Units of work in order: one unit per data-parallel
// tile, then for each split one unit per stream-K tile. One workgroup computes and stores a data-parallel tile. Each
// unit of a stream-K tile sums a part of GEMM-K into f32 partials in the workspace, one slot per unit; the fixup adds
// them in a fixed order. Further slots, one per workgroup, hold the running sum of a data-parallel tile whose GEMM-K is
// cut into several sums.
struct TileSchedule {
    int32 data_parallel_tiles;
    int32 stream_k_tiles;
    int32 splits;  // units per stream-K tile

    CKGEN_HD constexpr int32 stream_k_units() const { return stream_k_tiles * splits; }
    CKGEN_HD constexpr int32 units() const { return data_parallel_tiles + stream_k_units(); }
};

// The units of a persistent workgroup.
struct UnitRun {
    int32 first, end, step;
};
// Every `workgroups`-th unit, so that all workgroups process neighbouring units at any time.
CKGEN_HD constexpr UnitRun strided_units(const TileSchedule& schedule, int32 workgroup, int32 workgroups) {
    return {workgroup, schedule.units(), workgroups};
}
// Consecutive units, shared evenly among the workgroups.
CKGEN_HD constexpr UnitRun contiguous_units(const TileSchedule& schedule, int32 workgroup, int32 workgroups) {
    const int64 units = schedule.units();
    return {static_cast<int32>(units * workgroup / workgroups),
            static_cast<int32>(units * (workgroup + 1) / workgroups), 1};
}

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
