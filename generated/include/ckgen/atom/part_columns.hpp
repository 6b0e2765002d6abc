// Copied by ckgen from templates/include/ckgen/atom/part_columns.hpp. Do not edit; run: ckgen generate
// The parts of B in f32 (atom/tf32_parts.hpp) as K-major tiles in shared memory: threads read a tile of B and write the
// high parts to one and the low parts to another tile. A row of these has 128 bytes of GEMM-K, swizzled, of a column.
#pragma once

#include "ckgen/atom/part_rows.hpp"
#include "ckgen/atom/tf32_parts.hpp"

namespace ckgen::atom {

// Stores the parts of four positions of a column, at the same byte of both tiles.
CKGEN_DEVICE void store_parts(const platform::Thread& thread, const uint32 (&values)[1][4], int high, int low) {
    const Tf32Parts<1, 4> parts(values);
    const uint32(&h)[4] = parts.high[0];
    const uint32(&l)[4] = parts.low[0];
    thread.lds_store(high, Vec<uint32, 4>{h[0], h[1], h[2], h[3]});
    thread.lds_store(low, Vec<uint32, 4>{l[0], l[1], l[2], l[3]});
}

// B whose columns have 128 bytes of GEMM-K each, swizzled. `id` counts the Threads threads that fill the tiles.
template <int N, int Threads>
class KMajorColumns {
    static_assert(N * 8 % Threads == 0, "threads have equal shares");

public:
    CKGEN_DEVICE explicit KMajorColumns(int id) : byte_(id * 16) {}

    // b, high, low: bytes of LDS where B and the tiles of its parts begin.
    CKGEN_DEVICE void fill(const platform::Thread& thread, int b, int high, int low) const {
        CKGEN_UNROLL
        for(int i = 0; i < N * 8 / Threads; ++i) {
            const int byte = i * Threads * 16 + byte_;
            const auto read = thread.template lds_load<Vec<uint32, 4>>(b + byte);
            const uint32 values[1][4] = {{read[0], read[1], read[2], read[3]}};
            store_parts(thread, values, high + byte, low + byte);
        }
    }

private:
    const int byte_;
};

// B in boxes of 32 columns (128 bytes, swizzled) by 32 positions of GEMM-K. The tiles of parts have positions in pairs
// (position_in_pairs). A thread has one column, and every step-th four of its positions.
template <int N, int Threads>
class PairColumns {
    using Box = SwizzledTile<float, 32, 32>;
    static constexpr int step = Threads / N;
    static constexpr int halves = step % 2 == 0 ? 1 : 2;  // of eight positions, that a thread has
    static_assert(Threads % N == 0 && 8 % step == 0, "threads have equal shares");

public:
    CKGEN_DEVICE explicit PairColumns(int id) {
        const int column = id % N, four = id / N;
        CKGEN_UNROLL
        for(int half = 0; half < halves; ++half)
            CKGEN_UNROLL
        for(int k = 0; k < 4; ++k) {
            const int position = (four + half) / 2 * 8 + position_in_pairs((four + half) % 2 * 4 + k);
            read_[half][k] = column / 32 * Box::bytes + Box::offset(position, column % 32 / 4) + column % 4 * 4;
        }
        write_ = SwizzledRows<float, 32>::offset(column, four);
    }

    // As in KMajorColumns.
    CKGEN_DEVICE void fill(const platform::Thread& thread, int b, int high, int low) const {
        CKGEN_UNROLL
        for(int i = 0; i < 8 / step; ++i) {
            uint32 values[1][4];
            CKGEN_UNROLL
            for(int k = 0; k < 4; ++k)
                values[0][k] = thread.template lds_load<uint32>(b + read_[i % halves][k] +
                                                                i / halves * halves * step * 4 * Box::pitch);
            const int byte = write_ ^ i * step * 16;  // the swizzle is an XOR, too
            store_parts(thread, values, high + byte, low + byte);
        }
    }

private:
    int read_[halves][4], write_;
};

}  // namespace ckgen::atom
