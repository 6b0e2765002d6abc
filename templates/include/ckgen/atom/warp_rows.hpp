// Products of 64 rows of A by the columns of a K-major B in f32 by one warpgroup (atom/tf32_parts.hpp).
//
// Shared memory has 128 bytes of GEMM-K, swizzled, for each column of B, and A as boxes of 32 rows (128 bytes,
// swizzled) by positions of GEMM-K or in the order of B. Each of the four warps has 16 rows and all columns, so that
// its results are those of wgmma. ldmatrix, which loads 8 rows of 16 bytes, gives each lane one word of 32 bits: four
// neighbouring positions of eight columns are a register of B.
#pragma once

#include "ckgen/atom/multiply_parts.hpp"
#include "ckgen/atom/plane_fragments.hpp"

namespace ckgen::atom {

// The address that a lane gives to ldmatrix for 8 rows of 128 bytes of GEMM-K, swizzled.
struct KMajorLines {
    using Rows = SwizzledRows<float, 32>;
    // The byte of a line and a half of the first eight positions. Tiles begin at multiples of 1024.
    static CKGEN_HD constexpr uint32 byte_of(int row, int half) { return static_cast<uint32>(Rows::offset(row, half)); }
    // The address for the positions from 8 * eight on: the swizzle is an XOR, too.
    static CKGEN_HD constexpr uint32 at(uint32 address, int eight) { return address ^ static_cast<uint32>(eight) * 32; }
};

// A whose rows have 128 bytes of GEMM-K each, loaded as PlaneFragments loads its boxes: row i of a warp is row i.
class RowFragments {
public:
    CKGEN_DEVICE RowFragments(const platform::Thread& thread, uint32 base) {
        const int id = thread.thread_id() % 128, matrix = id % 32 / 8;  // row halves by halves of eight positions
        address_ = base + KMajorLines::byte_of(id / 32 * 16 + matrix % 2 * 8 + id % 8, matrix / 2);
    }
    CKGEN_DEVICE void load(uint32 (&fragment)[4], int eight, int bytes_on) const {
        platform::load_matrices(KMajorLines::at(address_ + static_cast<uint32>(bytes_on), eight), fragment);
    }

private:
    uint32 address_;
};

// One thread's part of a product. Rows: PlaneFragments or RowFragments.
template <int N, class Rows>
class WarpRows {
    static constexpr int blocks = 8;  // of 8 columns per step
    static constexpr int chunks = N / (8 * blocks);
    static_assert(N == 64 || N == 128, "the column counts that instances use");

public:
    template <int Eights>
    static constexpr int steps = Eights * chunks;  // of a stage: eight positions of A by 64 columns of B each
    static CKGEN_HD constexpr int eight(int step) { return step / chunks; }
    // False if A of the step is that of the step before it.
    static CKGEN_HD constexpr bool has_new_a(int step) { return step % chunks == 0; }
    using FragmentA = uint32[1][4];
    using FragmentB = uint32[blocks][2];

    CKGEN_DEVICE WarpRows(const platform::Thread& thread, int id) : a_(thread, platform::lds_start()) {
        const int matrix = id % 32 / 8;  // two blocks by two registers
        b_byte_ = KMajorLines::byte_of(matrix / 2 * 8 + id % 8, matrix % 2);
    }

    // The shared-memory addresses of the stage's tiles: of A from lds_start() on.
    struct Stage {
        int a;
        uint32 b;
    };
    CKGEN_DEVICE Stage stage(uint32 a, uint32 b) const {
        return {static_cast<int>(a - platform::lds_start()), b + b_byte_};
    }

    CKGEN_DEVICE void load_a(FragmentA& a, const Stage& stage, int step) const { a_.load(a[0], eight(step), stage.a); }
    CKGEN_DEVICE void load_b(FragmentB& b, const Stage& stage, int step) const {
        CKGEN_UNROLL
        for(int j = 0; j < blocks; j += 2) {
            const int columns = step % chunks * blocks * 8 + j * 8;
            uint32 r[4];
            platform::load_matrices(KMajorLines::at(stage.b, eight(step)) + columns * KMajorLines::Rows::pitch, r);
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                b[j + i / 2][i % 2] = r[i];
        }
    }

    static CKGEN_DEVICE void multiply(const FragmentA& a, const FragmentB& b, float (&acc)[N / 2], int step) {
        constexpr int at_once = 4;  // blocks whose products are in registers
        const Tf32Parts row(a);
        CKGEN_UNROLL
        for(int first = 0; first < blocks; first += at_once) {
            uint32 columns[at_once][2];
            CKGEN_UNROLL
            for(int j = 0; j < 2 * at_once; ++j)
                columns[j / 2][j % 2] = b[first + j / 2][j % 2];
            multiply_parts(row, Tf32Parts(columns),
                           [&](int, int j) { return acc + 4 * (step % chunks * blocks + first + j); });
        }
    }

private:
    const Rows a_;
    uint32 b_byte_;  // of the row that the lane gives to ldmatrix
};

}  // namespace ckgen::atom
