// Copied by ckgen from templates/include/ckgen/atom/warp_tile.hpp. Do not edit; run: ckgen generate
// Products of 64 rows of A by the columns of B in tf32 by one warpgroup, from MN-major tiles in shared memory:
// mma.sync m16n8k8, which unlike wgmma takes operands of tf32 in any order, from registers.
//
// Shared memory has boxes of 32 channels (128 bytes, swizzled) by positions of GEMM-K. Each of the four warps has all
// 64 rows and a quarter of the columns. Rows g and 8 + g of a product are neighbouring channels, so that two loads of
// eight bytes are the four registers of A in order. Lane t of four takes positions 2 * t and 2 * t + 1 in place of t
// and t + 4, the same of A and of B: then the lanes that load together read all 32 banks, since the swizzle moves
// position p by p % 8 slots of 16 bytes.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/platform/platform.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::atom {

// The results of a warpgroup's thread: N / 8 blocks of two rows by two columns, row by row. `thread` counts the threads
// of the warpgroup.
template <int N>
struct WarpTileAccumulator {
    static constexpr int row_blocks = N / 32;  // blocks in the same rows, 8 columns apart

    static CKGEN_HD constexpr int row(int thread, int block) { return block / row_blocks * 16 + thread % 32 / 4 * 2; }
    static CKGEN_HD constexpr int column(int thread, int block) {
        return thread / 32 * (N / 4) + block % row_blocks * 8 + thread % 4 * 2;
    }
};

// One thread's part of a product of Positions positions of GEMM-K.
template <int N, int Positions>
class WarpTile {
    using Box = SwizzledTile<float, Positions, 32>;
    static_assert(N == 64 || N == 128 || N == 256, "the column counts that instances use");
    static constexpr int warp_columns = N / 4;
    static constexpr int boxes = (warp_columns + 31) / 32;       // of B per warp
    static constexpr int box_blocks = warp_columns / boxes / 8;  // of 8 columns

public:
    template <int Eights>
    static constexpr int steps = Eights * boxes;  // of a stage: eight positions of A by one box of B each
    static CKGEN_HD constexpr int eight(int step) { return step / boxes; }
    // False if A of the step is that of the step before it.
    static CKGEN_HD constexpr bool has_new_a(int step) { return step % boxes == 0; }
    using FragmentA = uint32[4][4];           // of 16 rows each
    using FragmentB = uint32[box_blocks][2];  // of 8 columns each

    // `id` counts the threads of the warpgroup.
    CKGEN_DEVICE WarpTile(const platform::Thread& thread, int id) : thread_(thread) {
        const int g = id % 32 / 4;
        CKGEN_UNROLL
        for(int p = 0; p < 2; ++p) {
            a_byte_[p] = byte_of(id % 4 * 2 + p, 2 * g);
            b_byte_[p] = byte_of(id % 4 * 2 + p, id / 32 * warp_columns + g);
        }
    }

    // The addresses of the stage whose tiles of A and B are at shared-memory addresses a and b.
    struct Stage {
        int a[2][2], b[box_blocks][2];
    };
    CKGEN_DEVICE Stage stage(uint32 a, uint32 b) const {
        Stage result;
        CKGEN_UNROLL
        for(int p = 0; p < 2; ++p) {
            CKGEN_UNROLL
            for(int i = 0; i < 2; ++i)
                result.a[i][p] = static_cast<int>(a - platform::lds_start()) + (a_byte_[p] ^ channels_on(16 * i));
            CKGEN_UNROLL
            for(int j = 0; j < box_blocks; ++j)
                result.b[j][p] = static_cast<int>(b - platform::lds_start()) + (b_byte_[p] ^ channels_on(8 * j));
        }
        return result;
    }

    CKGEN_DEVICE void load_a(FragmentA& a, const Stage& stage, int step) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            CKGEN_UNROLL
        for(int p = 0; p < 2; ++p) {
            const auto rows = thread_.template lds_load<Vec<uint32, 2>>(stage.a[i % 2][p] + i / 2 * Box::bytes +
                                                                        eight(step) * 8 * Box::pitch);
            a[i][2 * p] = rows[0];
            a[i][2 * p + 1] = rows[1];
        }
    }
    CKGEN_DEVICE void load_b(FragmentB& b, const Stage& stage, int step) const {
        CKGEN_UNROLL
        for(int j = 0; j < box_blocks; ++j)
            CKGEN_UNROLL
        for(int p = 0; p < 2; ++p)
            b[j][p] = thread_.template lds_load<uint32>(stage.b[j][p] + step % boxes * Box::bytes +
                                                        eight(step) * 8 * Box::pitch);
    }

    static CKGEN_DEVICE void multiply(const FragmentA& a, const FragmentB& b, float (&acc)[N / 2], int step) {
        CKGEN_UNROLL
        for(int j = 0; j < box_blocks; ++j)
            CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            float* const sums = acc + 4 * (i * WarpTileAccumulator<N>::row_blocks + step % boxes * box_blocks + j);
            float c[4];
            CKGEN_UNROLL
            for(int q = 0; q < 4; ++q)
                c[q] = sums[q];
            mma_m16n8k8(c, a[i], b[j], tf32_t{});
            CKGEN_UNROLL
            for(int q = 0; q < 4; ++q)
                sums[q] = c[q];
        }
    }

private:
    // Byte of a channel at a position, from the first box on.
    static CKGEN_HD constexpr int byte_of(int position, int channel) {
        return channel / 32 * Box::bytes + Box::offset(position, channel % 32 / 4) + channel % 4 * 4;
    }
    // What to flip in the byte of a channel for the one `count` channels on, if adding these would carry no bit: the
    // swizzle is an XOR, too.
    static CKGEN_HD constexpr int channels_on(int count) { return count * 4; }

    const platform::Thread& thread_;
    int a_byte_[2], b_byte_[2];  // of the first row and column of the lane, per position
};

}  // namespace ckgen::atom
