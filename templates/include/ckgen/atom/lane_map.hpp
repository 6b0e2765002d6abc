// The lane and register of each element of a matrix atom's operands: data, used by the fragment loads, by the
// epilogue and by the host platform, which executes atoms by these maps.
#pragma once

#include "ckgen/compute_types.hpp"

namespace ckgen::atom {

template <class T>
using Fragment = Vec<T, 16 / static_cast<int>(sizeof(T))>;

// Products of a pair of operand types are summed in f32, those of int8 in i32.
template <class TA, class TB>
struct SumOf {
    using type = float;
};
template <>
struct SumOf<int8, int8> {
    using type = int32;
};
template <class TA, class TB>
using Sum = typename SumOf<TA, TB>::type;

// An element as the type in which products are summed.
template <class T>
CKGEN_HD float factor(T x) {
    return to_float(x);
}
CKGEN_HD int32 factor(int8 x) { return x; }

// A lane's share of an atom's results: the same number of registers for every instruction of a wave of Wave lanes.
template <int Size, class TA, class TB, int Wave = 64>
using Accumulator = Vec<Sum<TA, TB>, Size * Size / Wave>;

// A and B fragments are alike for every MFMA shape here. A lane holds one row of A (one column of B) and, of the GEMM-K
// positions of a step, the 16 consecutive bytes of "plane" lane / Size: 8 f16 or bf16, or 4 f32.
// AMD "MI300 CDNA3 ISA", 7.1.4 (matrix element to VGPR mapping); AMD matrix instruction calculator,
// V_MFMA_F32_{32X32X8,16X16X16}_F16 and V_MFMA_F32_{32X32X2,16X16X4}_F32: A[i][k] in lane i + Size * (k / k_per_lane).
// The order of k inside a step is free as long as A and B agree, which is what lets a lane read 16 bytes at once.
template <int Size>
struct MfmaOperand {
    static_assert(Size == 32 || Size == 16, "square MFMA atoms are 32x32 or 16x16");
    static constexpr int planes = 64 / Size;
    static CKGEN_HD constexpr int row(int lane) { return lane % Size; }
    static CKGEN_HD constexpr int plane(int lane) { return lane / Size; }
};

// C and D. Register r of a lane holds D[row(lane, r)][column(lane)].
// 32x32: 16 registers, rows in blocks of 4 per half wave (CDNA3 ISA, 7.1.4.1). 16x16: 4 registers.
template <int Size>
struct MfmaAccumulator {
    static constexpr int registers = Size * Size / 64;
    static constexpr int rows_per_chunk = 256 / Size;  // four registers of a whole wave cover this many rows
    static CKGEN_HD constexpr int row(int lane, int r) {
        return Size == 32 ? 8 * (r / 4) + 4 * (lane / 32) + r % 4 : 4 * (lane / 16) + r;
    }
    static CKGEN_HD constexpr int column(int lane, int) { return lane % Size; }
};

// Two warps of mma.sync, each with half of the atom's columns. PTX ISA 9.0, 9.7.14.5.8: results 0..3 of m16n8 lie in
// rows lane / 4 and lane / 4 + 8, columns lane % 4 * 2 and the next. Registers are ordered so that four in a row cover
// the same rows as MFMA's.
template <int Size>
struct MmaSyncAccumulator {
    static constexpr int registers = Size * Size / 64;
    static constexpr int rows_per_chunk = 256 / Size;
    static constexpr int column_blocks = Size / 16;
    static CKGEN_HD constexpr int row(int lane, int r) {
        return Size == 32 ? 8 * (r / 4) + lane % 32 / 4 : lane % 32 / 4 + 8 * (r / 2);
    }
    static CKGEN_HD constexpr int column(int lane, int r) {
        return lane / 32 * (Size / 2) + (Size == 32 ? r / 2 % 2 * 8 : 0) + lane % 4 * 2 + r % 2;
    }
    // The register of result q of block (m, n): rows m * 16, columns n * 8 of the warp's half.
    static CKGEN_HD constexpr int register_of(int m, int n, int q) {
        return (2 * m + q / 2) * (2 * column_blocks) + 2 * n + q % 2;
    }
};

// The portable atom's own map: lanes form a grid, each owns a small block of outputs and multiplies with plain FMA.
// Chunks of four registers cover the same rows as MFMA's, so that the epilogue is the same.
template <int Size>
struct FmaAccumulator {
    static constexpr int registers = Size * Size / 64;
    static constexpr int rows_per_chunk = 256 / Size;
    static constexpr int lane_columns = Size / 4;  // lanes along N, four columns each
    static constexpr int rows = registers / 4;     // rows of A per lane
    static CKGEN_HD constexpr int row(int lane, int r) { return (64 / lane_columns) * (r / 4) + lane / lane_columns; }
    static CKGEN_HD constexpr int column(int lane, int r) { return lane % lane_columns * 4 + r % 4; }
};

// The lanes of dot products: a grid of 8 x 8, in which lanes beside each other have rows and columns beside each other,
// so that their reads of LDS are in different banks. Each lane multiplies its rows with its four columns.
struct DotAccumulator {
    static constexpr int registers = 16;
    static constexpr int rows_per_chunk = 8;
    static CKGEN_HD constexpr int row(int lane, int r) { return lane / 8 + r / 4 * 8; }
    static CKGEN_HD constexpr int column(int lane, int r) { return lane % 8 + r % 4 * 8; }
};

}  // namespace ckgen::atom
