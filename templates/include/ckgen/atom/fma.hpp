// The portable atom: the same tile product with ordinary fused multiply-adds, for architectures without MFMA and as a
// second implementation on the host. It reads the same LDS layout, so that kernels do not depend on the atom.
#pragma once

#include "ckgen/atom/lane_map.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

template <int Size>
struct FmaAtom {
    using Map = FmaAccumulator<Size>;
    static constexpr bool reads_ahead = false;  // step() reads its operands from LDS one by one
    static constexpr int planes = 64 / Size;
    static constexpr int rows = Map::rows;

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR, int Steps>
    static CKGEN_DEVICE void order(const platform::Thread&) {}

    // This lane, and the place of its wave's first atoms in a tile.
    template <class LayoutA, class LayoutB, int MR, int NR>
    struct Lane {
        int lane, a, b;
        CKGEN_DEVICE Lane(const platform::Thread&, int lane, int a_slot, int b_slot)
            : lane(lane), a(LayoutA::byte_of(0, a_slot)), b(LayoutB::byte_of(0, b_slot)) {}
    };

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void step(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& at, int a_tile,
                                  int b_tile, Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        const int lane = at.lane;
        const int a_base = at.a + a_tile;
        const int b_base = at.b + b_tile;
        for(int plane = 0; plane < planes; ++plane)
            multiply<TA, TB, LayoutA, LayoutB>(thread, lane, a_base + LayoutA::byte_of(plane, 0),
                                               b_base + LayoutB::byte_of(plane, 0), acc);
    }

private:
    // One plane (K1 positions of GEMM-K): every lane multiplies its rows of A with its four columns of B.
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void multiply(const platform::Thread& thread, int lane, int a_plane, int b_plane,
                                      Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        static_assert(sizeof(TA) == sizeof(TB), "slots of A and B have the same rows of GEMM-K");
        constexpr int k1 = 16 / static_cast<int>(sizeof(TA));
        CKGEN_UNROLL
        for(int j = 0; j < NR; ++j) {
            Fragment<TB> b[4];
            CKGEN_UNROLL
            for(int column = 0; column < 4; ++column)
                b[column] =
                    thread.lds_load<Fragment<TB>>(b_plane + LayoutB::byte_of(0, j * Size + Map::column(lane, column)));
            CKGEN_UNROLL
            for(int i = 0; i < MR; ++i)
                CKGEN_UNROLL
            for(int row = 0; row < rows; ++row) {
                const auto a =
                    thread.lds_load<Fragment<TA>>(a_plane + LayoutA::byte_of(0, i * Size + Map::row(lane, 4 * row)));
                CKGEN_UNROLL
                for(int column = 0; column < 4; ++column)
                    CKGEN_UNROLL
                for(int k = 0; k < k1; ++k)
                    acc[i][j][4 * row + column] += factor(a[k]) * factor(b[column][k]);
            }
        }
    }
};

}  // namespace ckgen::atom
