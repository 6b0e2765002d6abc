// Descriptors of the operands of wgmma in shared memory, and the map from threads to its results.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::atom {

// Descriptor of an MN-major operand. Its rows, one per position, have Columns elements: 64 or 32 with the swizzle of
// their width, or 8 without a swizzle. The next Columns are `block_bytes` further. `address`: shared-memory byte
// address of any row; hardware swizzles by address bits, so only the writer of the rows must begin them at a multiple
// of 1024. A block distance of one row is valid too: neighbouring blocks may overlap.
template <int Columns = 64>
CKGEN_DEVICE uint64 wgmma_descriptor(uint32 address, uint32 block_bytes) {
    static_assert(Columns == 64 || Columns == 32 || Columns == 8, "the row widths that instances use");
    constexpr uint64 swizzle = Columns == 64 ? 1ull << 62 : Columns == 32 ? 2ull << 62 : 0;
    constexpr uint32 eight_rows = 8 * Columns * 2;
    // With a swizzle, the first distance is from block to block and the second from 8 rows to the next 8; else
    // reversed.
    const uint32 first = swizzle != 0 ? block_bytes : eight_rows;
    const uint32 second = swizzle != 0 ? eight_rows : block_bytes;
    return static_cast<uint64>((address & 0x3ffffu) >> 4) | (static_cast<uint64>(first >> 4) << 16) |
           (static_cast<uint64>(second >> 4) << 32) | swizzle;
}

// The index along which an operand is contiguous in shared memory: M or N, or GEMM-K.
enum class Major { mn, k };

// Descriptor of a K-major operand, whose rows have RowBytes, 128 or 64, with the swizzle of their width. `address`: of
// the first of the 32 bytes to multiply, in a row at a multiple of 1024.
template <int RowBytes>
CKGEN_DEVICE uint64 wgmma_row_descriptor(uint32 address) {
    static_assert(RowBytes == 128 || RowBytes == 64, "the row widths that instances use");
    return static_cast<uint64>((address & 0x3ffffu) >> 4) | 1ull << 16 | static_cast<uint64>(8 * RowBytes >> 4) << 32 |
           (RowBytes == 128 ? 1ull : 2ull) << 62;
}

// Result i of a thread: row lane / 4 + 8 * (i % 4 / 2) of its warp's 16 rows, column 8 * (i / 4) + lane % 4 * 2 + i
// % 2.
struct WgmmaAccumulator {
    static CKGEN_HD constexpr int row(int thread, int i) {
        return thread / 32 * 16 + thread % 32 / 4 + 8 * (i % 4 / 2);
    }
    static CKGEN_HD constexpr int column(int thread, int i) { return 8 * (i / 4) + thread % 4 * 2 + i % 2; }
};

// Register i of an A of tf32 in registers (PTX ISA 9.0, 9.7.15.5.1): row lane / 4 + 8 * (i % 2) of the warp's 16 rows,
// index lane % 4 + 4 * (i / 2) of the eight of GEMM-K.
struct WgmmaFragment {
    static CKGEN_HD constexpr int row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + 8 * (i % 2); }
    static CKGEN_HD constexpr int k(int thread, int i) { return thread % 4 + 4 * (i / 2); }
};

}  // namespace ckgen::atom
