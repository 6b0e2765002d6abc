// Copied by ckgen from templates/include/ckgen/conv/tile_schedule.hpp. Do not edit; run: ckgen generate
// How persistent workgroups share out the tiles of what a kernel writes.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// Units of work, in the order in which they are taken: `direct` whole tiles, then every split of the `tail`, other
// tiles. Their f32 sums lie in the workspace, a slot for each unit of the tail, then one for each workgroup, which sums
// a direct tile in several pieces there.
struct TileSchedule {
    int32 direct;  // tiles
    int32 tail;    // tiles
    int32 split;   // units that share a tile of the tail

    CKGEN_HD constexpr int32 tail_units() const { return tail * split; }
    CKGEN_HD constexpr int32 units() const { return direct + tail_units(); }
};

// The units of a workgroup.
struct UnitRun {
    int32 first, end, step;
};
// By turns, so that workgroups are at neighbouring units at a time.
CKGEN_HD constexpr UnitRun units_by_turns(const TileSchedule& schedule, int32 workgroup, int32 workgroups) {
    return {workgroup, schedule.units(), workgroups};
}
// Or an even share of neighbouring units each.
CKGEN_HD constexpr UnitRun units_in_a_row(const TileSchedule& schedule, int32 workgroup, int32 workgroups) {
    const int64 units = schedule.units();
    return {static_cast<int32>(units * workgroup / workgroups),
            static_cast<int32>(units * (workgroup + 1) / workgroups), 1};
}

// What a persistent kernel has to do: tiles, each of k_tiles along GEMM-K, and how long those take.
struct TileWork {
    int64 tiles;
    int64 k_tiles;
    int m_per_block, n_per_block, k_per_block;
};

// The split_k that costs the least nanoseconds, of which a unit takes
//     k_tiles * (40 + 75 * blocks) + 700 + 220 * blocks
// where blocks counts the 64x64x64 in a tile of GEMM-K, units go in waves of compute_units, and adding up partials of
// n bytes takes 2500 + n / 3200. The terms: the products; filling the pipeline and writing the tile; the barrier of the
// grid; writing and reading a partial. The constants fit an H200: bench/results/2026-11-21-h200.
int64 fill_waves(const TileWork& work, int64 compute_units);

// With split_k 1 the tiles of the last wave, where it comes after others and leaves compute units idle, are the tail,
// which is split by the same reckoning into at most 8.
TileSchedule share_tiles(const TileWork& work, int split_k, int compute_units);

// Slots of partials in the workspace. `in_pieces`: a direct tile is summed in several.
inline int64 partial_slots(const TileSchedule& schedule, bool in_pieces, int compute_units) {
    return int64{schedule.tail} * schedule.split + (schedule.direct > 0 && in_pieces ? compute_units : 0);
}

}  // namespace ckgen::conv
