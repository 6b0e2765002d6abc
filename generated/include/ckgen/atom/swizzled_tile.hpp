// Copied by ckgen from templates/include/ckgen/atom/swizzled_tile.hpp. Do not edit; run: ckgen generate
// Tiles in shared memory in the swizzles of TMA and wgmma, which let eight lanes read or write the same columns of
// eight rows without bank conflicts. PTX ISA 9.0, 5.5.6 (swizzling modes).
#pragma once

#include "ckgen/atom/wgmma_operands.hpp"

namespace ckgen::atom {

// Rows of Columns elements of T, 128 or 64 bytes, that follow each other. The swizzle permutes the 16-byte slots of a
// row by an XOR with the row's number; row 0 begins at a multiple of 1024 bytes.
template <class T, int Columns>
struct SwizzledRows {
    static constexpr int pitch = Columns * static_cast<int>(sizeof(T));  // bytes from one row to the next
    static_assert(pitch == 128 || pitch == 64, "the swizzles that kernels use");

    // Byte of a slot within its row.
    static CKGEN_HD constexpr int slot_byte(int row, int slot) {
        return (slot ^ (pitch == 128 ? row & 7 : row / 2 & 3)) * 16;
    }
    // Byte of a slot from row 0 on.
    static CKGEN_HD constexpr int offset(int row, int slot) { return row * pitch + slot_byte(row, slot); }
};

// A tile that begins at shared-memory byte address `base`.
template <class T, int Rows, int Columns>
struct SwizzledTile : SwizzledRows<T, Columns> {
    static constexpr int bytes = Rows * SwizzledRows<T, Columns>::pitch;

    uint32 base;

    CKGEN_DEVICE explicit SwizzledTile(uint32 address) : base(address) {}
    // Address of a row.
    CKGEN_DEVICE uint32 row(int i) const { return base + static_cast<uint32>(i * SwizzledRows<T, Columns>::pitch); }
    // Descriptor of 16 rows from `first` on as an MN-major operand: rows are positions of GEMM-K. The next tile begins
    // where this one ends and has the next Columns of M or N.
    CKGEN_DEVICE uint64 descriptor(int first) const { return wgmma_descriptor<Columns>(row(first), bytes); }
    // Descriptor of 32 bytes of columns from `first` on as a K-major operand: columns are positions of GEMM-K.
    CKGEN_DEVICE uint64 k_major_descriptor(int first) const {
        return wgmma_row_descriptor<SwizzledRows<T, Columns>::pitch>(base + static_cast<uint32>(first) * sizeof(T));
    }
};

}  // namespace ckgen::atom
