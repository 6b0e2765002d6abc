// Copied by ckgen from templates/include/ckgen/block/lds_layout.hpp. Do not edit; run: ckgen generate
// Layouts of one operand's tile in LDS.
//
// The tile has `Columns` columns (GEMM-M or GEMM-N) and K rows. LDS holds planes of K1 consecutive rows. In a plane
// every column is one 16-byte slot with its K1 values, the order of matrix fragments:
//     byte(plane, slot, byte in slot) = (plane * (Columns + Pad) + slot) * 16 + byte
//
// Bank conflicts. A copying thread holds Vector neighbouring columns and writes one slot (or a part of it) at a time.
// If slot numbers were column numbers, consecutive threads would write Vector * 16 bytes apart, to the same banks.
// Columns are therefore permuted: in each group of 8 * Vector columns, element e of thread t goes to slot e * 8 + t, so
// that eight consecutive threads write 128 consecutive bytes. Fragment loads read consecutive slots, which has no
// conflicts either. The epilogue inverts the permutation once (column_of_slot). Tiles narrower than a group use smaller
// groups and Pad slots per plane, so that planes start in different banks. Tiles that are not a whole number of groups
// use smaller groups and have conflicts.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::block {

// The largest number of planes, or of rows of `run` threads each, over which one wave of a workgroup's copy extends.
CKGEN_HD constexpr int runs_in_wave(int threads, int run, int wave) {
    int most = 0;
    for(int first = 0; first < threads; first += wave)
        most = max_of(most, (first + wave - 1) / run - first / run + 1);
    return most;
}

// The largest power of two that divides a number.
CKGEN_HD constexpr int power_of_two_in(int number) { return number & -number; }

template <int Columns_, int K1_, int Vector_, int Pad_>
struct LdsLayout {
    static constexpr int columns = Columns_;
    static constexpr int k1 = K1_;
    static constexpr int vector = Vector_;
    static constexpr int slot_bytes = 16;
    static constexpr int plane_bytes = (Columns_ + Pad_) * slot_bytes;
    static constexpr int group = Columns_ <= 8 * Vector_ ? Columns_ : min_of(8 * Vector_, power_of_two_in(Columns_));
    static constexpr int group_threads = group / Vector_;

    static CKGEN_HD constexpr int slot_of_column(int column) {
        return column / group * group + column % Vector_ * group_threads + column % group / Vector_;
    }
    static CKGEN_HD constexpr int column_of_slot(int slot) {
        return slot / group * group + slot % group_threads * Vector_ + slot % group / group_threads;
    }
    static CKGEN_HD constexpr int byte_of(int plane, int slot) { return plane * plane_bytes + slot * slot_bytes; }
    static constexpr bool by_rows = false;
    static constexpr bool by_columns = false;
};

// The layout for direct-to-LDS loads of an operand that is contiguous along GEMM-K: columns one after the other, each
// with the slots of all its planes, as they are in global memory.
//
// Bank conflicts. The lanes of a read take one plane of neighbouring columns. The slots of a column are permuted by an
// exclusive or, which changes from each 256 bytes of columns to the next, so that 16 columns are in different banks.
template <int Columns_, int K1_, int Planes_>
struct LdsColumns {
    static constexpr int columns = Columns_;
    static constexpr int k1 = K1_;
    static constexpr int vector = 1;
    static constexpr bool by_rows = false;
    static constexpr bool by_columns = true;
    static constexpr int planes = Planes_;
    static constexpr int slot_bytes = 16;
    static constexpr int plane_bytes = slot_bytes;  // from a plane to the next, before the exclusive or
    static constexpr int column_bytes = Planes_ * slot_bytes;
    static_assert(Planes_ > 0 && 16 % Planes_ == 0, "an exclusive or, and whole columns in the 256 bytes of the banks");

    static CKGEN_HD constexpr int slot_of_column(int column) { return column; }
    static CKGEN_HD constexpr int column_of_slot(int slot) { return slot; }
    static CKGEN_HD constexpr int byte_of(int plane, int column) {
        return column * column_bytes + (plane ^ moved_by(column)) * slot_bytes;
    }

    static CKGEN_HD constexpr int moved_by(int column) { return column / (16 / Planes_) % Planes_; }
    static constexpr int moves_repeat_after = 16;  // columns
};

// The layout for LDS reads that transpose (gfx950): rows have the order of global memory. A plane is its K1 rows, one
// after the other, and a slot is a column.
//
// Bank conflicts. A transposing read takes 32 bytes of each of four neighbouring rows per 16 lanes; the neighbouring 16
// lanes take the next 32 bytes. Rows of 256 bytes would all begin in the same bank, so the column bytes of row r are
// permuted by an exclusive or with 64 * (r % 4). Narrower rows share the 256 bytes of the 64 banks and permute by less,
// and so do rows that are not a whole number of 256 bytes, because the permutation must stay within a row.
template <int Columns_, int K1_, int Vector_, int Pad_>
struct LdsRows {
    static constexpr int columns = Columns_;
    static constexpr int k1 = K1_;
    static constexpr int vector = Vector_;
    static constexpr bool by_rows = true;
    static constexpr int row_bytes = Columns_ * 2;
    static constexpr int plane_bytes = (Columns_ + Pad_) * 16;  // the same as LdsLayout's
    static_assert(Columns_ % 32 == 0 && row_bytes * K1_ <= plane_bytes, "16-bit elements");

    static CKGEN_HD constexpr int slot_of_column(int column) { return column; }
    static CKGEN_HD constexpr int column_of_slot(int slot) { return slot; }
    static CKGEN_HD constexpr int byte_of(int plane, int row, int column) {
        return plane * plane_bytes + row * row_bytes + (column * 2 ^ moved_by(row));
    }

    static CKGEN_HD constexpr int moved_by(int row) {
        return row / max_of(1, 128 / Columns_) % min_of(4, power_of_two_in(Columns_) / 32) * 64;
    }
    static constexpr int moves_repeat_after = 4;  // rows
};

}  // namespace ckgen::block
