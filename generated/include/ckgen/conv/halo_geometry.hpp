// Copied by ckgen from templates/include/ckgen/conv/halo_geometry.hpp. Do not edit; run: ckgen generate
// Shared memory of family halo: input rows stream through ring buffers. A row is read from global memory once, with the
// columns that padding adds, and stays until every tap has used it.
//
// Each pair of residues of row and column modulo the stride has a ring of its own. In a ring, the position under a tap
// is the output position plus a constant. Output rows are as wide as the rings' rows, so all addresses of a step
// advance by the same amount.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/conv/halo_strips.hpp"

namespace ckgen::conv {

inline constexpr int kHaloPitch = 128;   // bytes of an input position in shared memory, swizzled
inline constexpr int kHaloMaxBox = 256;  // most rows and columns of a TMA box

// Inputs of the rings' shape, in two dimensions. Lengths in positions.
struct HaloShape {
    int rows, columns;              // positions at which the taps are applied
    int ring_rows, ring_columns;    // residues of rows and of columns that have a ring of their own
    int reach_rows, reach_columns;  // positions of a ring from the first tap to the last
    int shared_columns = 0;         // zeros after a row that also serve as the zeros before the next row
};

// The shape for backward weight, where taps are applied at the positions of the output. `unit_taps`: the taps of a
// filter row are rounded up to a multiple of it.
CKGEN_HD constexpr HaloShape halo_shape(const int32* length, const int32* filter, const int32* stride,
                                        const int32* dilation, int unit_taps) {
    const int taps = ceil_div(filter[1], unit_taps) * unit_taps;
    return {length[0],
            length[1],
            stride[0],
            stride[1],
            (filter[0] - 1) * dilation[0] / stride[0],
            (taps - 1) * dilation[1] / stride[1]};
}

// `positions`: output positions that the math warps process at once; `out_pitch`: bytes per output position in shared
// memory; `stages`: the largest useful number; `lds_bytes`: limit for rings and barriers together.
struct HaloLimits {
    int positions, out_pitch, stages, lds_bytes;
    bool strips = false;              // no rings: see conv/halo_strips.hpp
    bool buffers = false;             // the strips' output rows may pass through a buffer
    int64 step_bytes = 227 * 1024;    // limit for the bytes of a step in a ring
    int64 latency_bytes = 48 * 1024;  // bytes in flight that hide the memory latency
    // Family depthwise_tma: taps of a filter row and filter rows that a warp multiplies, and warps. Else the filter has
    // three rows of three taps.
    int unit_taps = 0, unit_rows = 0, warps = 0;

    CKGEN_HD constexpr HaloShape shape(const int32* length, const int32* filter, const int32* stride,
                                       const int32* dilation) const {
        return halo_shape(length, filter, stride, dilation, unit_taps > 0 ? unit_taps : 1);
    }
    CKGEN_HD constexpr HaloShape shape(const BwdWeightArgs& p) const {
        return shape(p.out_length, p.filter, p.stride, p.dilation);
    }
    CKGEN_HD constexpr StripLimits strip_limits() const { return {out_pitch, stages, lds_bytes, buffers}; }
};

// A step brings `rows` output rows, and to each ring as many input rows. The first steps of an image begin above its
// first row; rows outside the image read as zero.
struct HaloGeometry {
    int32 rows;       // per step
    int32 stages;     // steps in shared memory at once
    int32 blocks;     // steps in a ring: `stages`, and earlier ones that later steps still read
    int32 lead_rows;  // ring rows from an output row's first tap to its last: the lead of input over output
    int32 plane;      // positions per row: the output's, those that taps reach beyond it, and padding that makes rows *
                      // plane a multiple of 8, so that all steps have the same swizzle
    int32 ring_bytes;
    int32 slot_bytes;  // bytes of a stage's output rows
    int32 steps_per_image;
    int32 lds_bytes;  // rings, output rows and barriers; 0 if they do not fit
};

CKGEN_HD constexpr int64 round_up(int64 value, int64 step) { return (value + step - 1) / step * step; }

// The rings for `rows` output rows per step and `stages` stages.
CKGEN_HD constexpr HaloGeometry halo_rings(const HaloShape& s, const HaloLimits& limits, int rows, int stages) {
    HaloGeometry g{};
    g.rows = rows;
    g.stages = stages;
    g.lead_rows = s.reach_rows;
    const int even = rows % 8 == 0 ? 1 : rows % 4 == 0 ? 2 : rows % 2 == 0 ? 4 : 8;
    g.plane = static_cast<int32>(round_up(int64{s.columns} + s.reach_columns - s.shared_columns, even));
    g.blocks = stages + ceil_div(s.reach_rows + (s.shared_columns > 0 ? 1 : 0), rows);
    const int64 ring_bytes = int64{g.plane} * g.blocks * rows * kHaloPitch;
    const int64 slot_bytes = round_up(round_up(int64{rows} * g.plane, limits.positions) * limits.out_pitch, 1024);
    // 1024 bytes for alignment; two barriers of 8 bytes per stage.
    const int64 bytes = ring_bytes * s.ring_rows * s.ring_columns + stages * (slot_bytes + 16) + 1024;
    const bool fits = bytes <= limits.lds_bytes && ring_bytes / g.blocks <= limits.step_bytes &&
                      g.plane * s.ring_columns <= kHaloMaxBox && rows * s.ring_rows <= kHaloMaxBox;
    g.ring_bytes = static_cast<int32>(fits ? ring_bytes : 0);
    g.slot_bytes = static_cast<int32>(fits ? slot_bytes : 0);
    g.steps_per_image = ceil_div(s.rows + g.lead_rows, rows);
    g.lds_bytes = static_cast<int32>(fits ? round_up(bytes, 16) : 0);
    return g;
}

// The rings with the lowest estimated time. Time grows with the positions of an image's output rows and with its steps:
// a step rounds its positions up and waits at barriers. It also grows where too few bytes are in flight to hide the
// memory latency.
CKGEN_HD constexpr HaloGeometry halo_geometry(const HaloShape& shape, const HaloLimits& limits) {
    const int64 latency_bytes = limits.latency_bytes;
    const int64 step_positions = 24 + limits.positions / 2;
    HaloGeometry best{};
    int64 best_cost = 0;
    const int most = shape.rows < 32 ? shape.rows : 32;
    for(int rows = 1; rows <= most; ++rows)
        for(int stages = 2; stages <= limits.stages; ++stages) {
            const HaloGeometry g = halo_rings(shape, limits, rows, stages);
            if(g.lds_bytes == 0)
                break;
            const int64 step = int64{g.ring_bytes} / g.blocks * shape.ring_rows * shape.ring_columns + g.slot_bytes;
            const int64 on_the_way = step * (stages - 1) < latency_bytes ? step * (stages - 1) : latency_bytes;
            const int64 positions = int64{shape.rows} * g.plane + g.steps_per_image * step_positions;
            const int64 cost = positions * latency_bytes / on_the_way;
            if(best.lds_bytes == 0 || cost < best_cost)
                best = g, best_cost = cost;
        }
    return best;
}

}  // namespace ckgen::conv
