// Copied by ckgen from templates/include/ckgen/atom/wmma_lanes.hpp. Do not edit; run: ckgen generate
// The lane and register of each element of a WMMA atom: 16x16 by waves of 32.
#pragma once

#include "ckgen/atom/lane_map.hpp"

namespace ckgen::atom {

// A and B fragments. gfx11 ("RDNA3 ISA", 7.9): lane i holds 16 positions of GEMM-K of row (B: column) i % 16, and the
// two halves of a wave hold the same. gfx12 ("RDNA4 ISA", 7.9): the halves hold 8 positions each. The order of
// positions in a step of two planes is free as long as A and B agree, so a lane takes whole slots of LDS: both planes,
// or that of its half.
//
// C and D: register r of a lane holds the result of column lane % 16 and row 2 * r + lane / 16 on gfx11, r + lane / 16
// * 8 on gfx12. The rows of A are free too: on gfx12 they have another order, so that four registers of a wave cover
// eight neighbouring rows of the tile, while eight neighbouring lanes still read LDS in different banks.
template <int Generation>
struct WmmaMap {
    static constexpr int planes = 2;  // of a step
    static constexpr int slots = Generation == 11 ? 2 : 1;
    static constexpr int registers = 8;
    static constexpr int rows_per_chunk = 8;

    static CKGEN_HD constexpr int plane(int lane) { return Generation == 11 ? 0 : lane / 16; }
    static CKGEN_HD constexpr int a_row(int lane) {
        return Generation == 11 ? lane % 16 : row(lane % 16 / 8 * 16, lane % 8);
    }
    static CKGEN_HD constexpr int b_column(int lane) { return lane % 16; }

    static CKGEN_HD constexpr int row(int lane, int r) {
        return Generation == 11 ? 2 * r + lane / 16 : r / 4 * 8 + (lane / 16 ^ r / 4) * 4 + r % 4;
    }
    static CKGEN_HD constexpr int column(int lane, int) { return lane % 16; }
};
// 32 bytes of GEMM-K on gfx11, 16 on gfx12.
template <class T, int Generation>
using WmmaFragment = Vec<T, WmmaMap<Generation>::slots * 16 / static_cast<int>(sizeof(T))>;

}  // namespace ckgen::atom
