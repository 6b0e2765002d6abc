// Copied by ckgen from templates/include/ckgen/conv/halo_strips.hpp. Do not edit; run: ckgen generate
// Shared memory of the wgmma kernel of family halo: an image is processed in strips. A strip is a few input rows and
// the output rows that their taps reach, including the halo, side by side in one stage.
//
// Both operands have rows of `plane` positions there, so that the output position under a tap is the input position
// plus a constant. An input row begins at the image's first column; an output row begins as far before it as tap 2
// reaches. Positions outside either image read as zero, so products whose column wraps into the next row are zero.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"

namespace ckgen::conv {

inline constexpr int kHaloTaps = 3;  // rows and columns of the filter

// `out_pitch`: bytes per output position in shared memory; `stages`: the largest useful number; `lds_bytes`: limit for
// the stages and their barriers; `buffers`: the kernel can take rows as they lie in global memory.
struct StripLimits {
    int out_pitch, stages, lds_bytes;
    bool buffers;
};

// Inputs of the strips' shape: 2D, filter 3x3, stride 1. Lengths in positions.
struct StripShape {
    int in_rows, in_columns, out_columns;
    int reach_rows, reach_columns;  // from the first tap to the last
    int pad_columns;
    int64 buffered_bytes;  // bytes per output position that passes through the buffer, else 0
};

// TMA needs strides that are multiples of 16 bytes, so it cannot address positions of 8, 24, 40 ... bytes. Where rows
// have no gaps, a bulk load copies whole rows to a buffer and threads move them to their places; otherwise the output
// is repacked first.
CKGEN_HD constexpr int64 buffered_bytes(const StripLimits& limits, int64 groups, int64 outputs, int64 position_bytes) {
    const bool possible = limits.buffers && groups == 1 && position_bytes == outputs * 2;
    return possible && position_bytes % 16 == 8 && position_bytes <= limits.out_pitch ? position_bytes : 0;
}

CKGEN_HD constexpr StripShape strip_shape(const BwdWeightArgs& p, const StripLimits& limits) {
    return {p.in_length[0],
            p.in_length[1],
            p.out_length[1],
            (kHaloTaps - 1) * p.dilation[0],
            (kHaloTaps - 1) * p.dilation[1],
            p.pad[1],
            buffered_bytes(limits, p.groups, p.m, p.out_row_bytes)};
}

struct HaloStrips {
    int32 rows;           // input rows per strip
    int32 plane;          // positions per row
    int32 stages;         // strips in shared memory at once
    int32 in_positions;   // per stage: the strip's, rounded up to whole steps of the matrix unit
    int32 out_positions;  // per stage: all that those steps read; positions that no copy writes are zero
    int32 per_image;      // strips per image
    int32 stage_bytes;    // 0 if two stages do not fit
    int32 buffer_bytes;   // for a strip's output rows; 0 if TMA writes them to their places
};

inline constexpr int kStripStep = 16;         // positions per step of the matrix unit
inline constexpr int kStripInPitch = 128;     // bytes of an input position in shared memory: 64 channels, swizzled
inline constexpr int kStripMaxBox = 256;      // most rows and columns of a TMA box
inline constexpr int kStripAlignment = 1024;  // alignment of swizzled rows

CKGEN_HD constexpr int64 strip_round_up(int64 value, int64 step) { return (value + step - 1) / step * step; }

// The strips with `rows` rows each, in `stages` stages.
CKGEN_HD constexpr HaloStrips strips_of(const StripShape& s, const StripLimits& limits, int rows, int stages) {
    HaloStrips g{};
    const int wrap = s.reach_columns < s.pad_columns ? s.reach_columns : s.pad_columns;
    const int for_in = s.in_columns + wrap;
    const int for_out = s.out_columns + s.reach_columns - s.pad_columns;
    const int64 plane = for_in > for_out ? for_in : for_out;
    const int64 in_positions = strip_round_up(rows * plane, kStripStep);
    const int64 copied = (rows + int64{s.reach_rows}) * plane;
    const int64 read = s.reach_rows * plane + s.reach_columns + in_positions;
    const int64 out_positions = strip_round_up(copied > read ? copied : read, kStripStep);
    const int64 bytes =
        strip_round_up(in_positions * kStripInPitch + out_positions * limits.out_pitch, kStripAlignment);
    const int64 rows_bytes = (rows + int64{s.reach_rows}) * s.out_columns * s.buffered_bytes + 2 * 16;
    const int64 buffer = s.buffered_bytes > 0 ? strip_round_up(rows_bytes, kStripAlignment) : 0;
    const bool fits = stages * (bytes + 16) + buffer + 16 + kStripAlignment <= limits.lds_bytes &&
                      plane <= kStripMaxBox && rows + s.reach_rows <= kStripMaxBox;
    if(!fits)
        return g;
    g.rows = rows;
    g.plane = static_cast<int32>(plane);
    g.stages = stages;
    g.in_positions = static_cast<int32>(in_positions);
    g.out_positions = static_cast<int32>(out_positions);
    g.per_image = ceil_div(s.in_rows, rows);
    g.stage_bytes = static_cast<int32>(bytes);
    g.buffer_bytes = static_cast<int32>(buffer);
    return g;
}

// Steps of the matrix unit for a strip. The last strip of an image may have fewer rows.
CKGEN_HD constexpr int strip_steps(const HaloStrips& g, int in_rows, int strip) {
    const int left = in_rows - strip * g.rows;
    return ceil_div((left < g.rows ? left : g.rows) * g.plane, kStripStep);
}

// The strips with the lowest estimated time. Time grows with the steps of the matrix unit and with the number of
// strips. A workgroup processes about one image and waits for its first strip. The constants fit an H200 for images of
// 7x7 to 100x100. More than two stages help for small images.
CKGEN_HD constexpr HaloStrips halo_strips(const StripShape& shape, const StripLimits& limits) {
    constexpr int64 step_cost = 192;  // cycles
    constexpr int64 strip_cost = 600;
    constexpr int64 fill_bytes = 16;  // per cycle
    constexpr int32 latency_bytes = 32 * 1024;
    HaloStrips best{};
    int64 best_cost = 0;
    const int most = shape.in_rows < 32 ? shape.in_rows : 32;
    for(int rows = 1; rows <= most; ++rows) {
        HaloStrips g = strips_of(shape, limits, rows, 2);
        for(int stages = 3; stages <= limits.stages && g.stage_bytes * (stages - 2) < latency_bytes; ++stages) {
            const HaloStrips more = strips_of(shape, limits, rows, stages);
            g = more.stage_bytes > 0 ? more : g;
        }
        if(g.stage_bytes == 0)
            break;
        const int64 steps =
            int64{g.per_image - 1} * strip_steps(g, shape.in_rows, 0) + strip_steps(g, shape.in_rows, g.per_image - 1);
        const int64 cost = steps * step_cost + g.per_image * strip_cost + g.stage_bytes / fill_bytes;
        if(best.stage_bytes == 0 || cost < best_cost)
            best = g, best_cost = cost;
    }
    return best;
}

}  // namespace ckgen::conv
