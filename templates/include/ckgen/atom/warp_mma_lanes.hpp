// The lane of each element of one warp's m16n8k16 and m16n8k8 whose operands have GEMM-K (positions) as the outermost
// dimension and are transposed between shared memory and registers.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::atom {

// The addresses that lanes give to platform::load_matrices_transposed: a row is 16 bytes, 8 channels of a position.
struct MatrixRows {
    static CKGEN_HD constexpr int matrix(int lane) { return lane / 8; }
    static CKGEN_HD constexpr int row(int lane) { return lane % 8; }
};

// PTX ISA 9.0, 9.7.14.5.8. Register r of A and of B holds Elements neighbouring positions of a row or a column: two of
// 16 bits, or one of tf32.
template <int Elements>
struct WarpOperandA {
    static CKGEN_HD constexpr int row(int lane, int r) { return lane / 4 + r % 2 * 8; }
    static CKGEN_HD constexpr int position(int lane, int r) { return (lane % 4 + r / 2 * 4) * Elements; }
};
template <int Elements>
struct WarpOperandB {
    static CKGEN_HD constexpr int column(int lane) { return lane / 4; }
    static CKGEN_HD constexpr int position(int lane, int r) { return (lane % 4 + r * 4) * Elements; }
};
// Result q of m16n8.
struct WarpAccumulator {
    static CKGEN_HD constexpr int row(int lane, int q) { return lane / 4 + q / 2 * 8; }
    static CKGEN_HD constexpr int column(int lane, int q) { return lane % 4 * 2 + q % 2; }
};

}  // namespace ckgen::atom
