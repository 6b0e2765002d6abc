// Copied by ckgen from templates/include/ckgen/conv/halo_taps.hpp. Do not edit; run: ckgen generate
// Output positions that the taps of a 3x3 filter read in backward data.
//
// With stride s the input's positions fall into cells of s: cell t of a dimension has positions s * t .. s * t + s - 1.
// Tap y reaches one position of each cell, s * t + at, and reads output position t + offset for it; both are constant:
//     s * t + at + pad - dilation * y = s * (t + offset)
// so that all taps go through the cells in the same way for every stride.
#pragma once

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/conv/halo_geometry.hpp"

namespace ckgen::conv {

// Taps of one dimension.
struct HaloTaps {
    int32 cells;
    int32 first;              // the output position that begins a row of the rings for cell 0
    int32 reach;              // from the lowest offset to the highest
    int32 shared;             // positions of `reach` that need no place of their own: see HaloShape
    int32 offset[kHaloTaps];  // relative to `first`
    int32 at[kHaloTaps];
};

CKGEN_HD constexpr int floor_div(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// `shares`: the zeros after a row may be the zeros before the next row.
CKGEN_HD constexpr HaloTaps halo_taps(int in_length, int out_length, int stride, int dilation, int pad, bool shares) {
    HaloTaps taps{};
    taps.cells = ceil_div(in_length, stride);
    int offset[kHaloTaps] = {};
    for(int y = 0; y < kHaloTaps; ++y) {
        offset[y] = -floor_div(dilation * y - pad, stride);
        taps.at[y] = stride * offset[y] - pad + dilation * y;
    }
    const int lowest = offset[kHaloTaps - 1];
    const int before = max_of(0, -lowest);
    const int behind = max_of(0, taps.cells + offset[0] - out_length);
    taps.reach = offset[0] - lowest;
    taps.shared = shares ? min_of(min_of(taps.reach, 8), min_of(before, behind)) : 0;
    taps.first = lowest + taps.shared;
    for(int y = 0; y < kHaloTaps; ++y)
        taps.offset[y] = offset[y] - taps.first;
    return taps;
}

// Taps of a problem (rows, then columns) and its rings.
struct HaloCells {
    HaloTaps taps[2];
    HaloGeometry ring;  // lds_bytes is 0 if the rings do not fit
};

CKGEN_HD constexpr HaloCells halo_cells(const BwdDataArgs& p, const HaloLimits& limits) {
    HaloCells cells{};
    for(int d = 0; d < 2; ++d)
        cells.taps[d] = halo_taps(p.in_length[d], p.out_length[d], p.stride[d], p.dilation[d], p.pad[d], d == 1);
    const HaloTaps& rows = cells.taps[0];
    const HaloTaps& columns = cells.taps[1];
    cells.ring =
        halo_geometry({rows.cells, max_of(columns.cells, 2), 1, 1, rows.reach, columns.reach, columns.shared}, limits);
    return cells;
}

// Workgroups that cover all channels, 128 bytes each.
CKGEN_HD constexpr int halo_windows(const BwdDataArgs& p, int elem_bytes) {
    return ceil_div(p.groups * p.n, kHaloPitch / elem_bytes);
}

}  // namespace ckgen::conv
