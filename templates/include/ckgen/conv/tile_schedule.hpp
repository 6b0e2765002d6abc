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

}  // namespace ckgen::conv
