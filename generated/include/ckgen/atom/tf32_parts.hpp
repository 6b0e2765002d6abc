// Copied by ckgen from templates/include/ckgen/atom/tf32_parts.hpp. Do not edit; run: ckgen generate
// Products of f32 on tensor cores that multiply tf32: an operand is the sum of two numbers of tf32, high and low, and a
// product is high * high + high * low + low * high. CUTLASS calls this 3xTF32 (examples/27_ampere_3xtf32_fast_accurate_
// tensorop_gemm).
//
// high is x rounded to 11 significant bits. low is x - high, which has up to 12 bits, of which the tensor core
// reads 11. So the error of a product is at most 2^-21 of its magnitude. Tensor cores round sums toward zero, so that
// errors of a long sum have one sign: they sum the products of eight (mma.sync) or 32 positions (wgmma), and threads
// add these sums in f32. An operand that is infinite, or that rounds to infinity (from 2^128 - 2^116 on), gives NaN;
// the low part of a magnitude below 2^-114 is subnormal.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::atom {

// The parts of Count fragments of Registers registers each.
template <int Count, int Registers>
struct Tf32Parts {
    uint32 high[Count][Registers], low[Count][Registers];

    CKGEN_DEVICE explicit Tf32Parts(const uint32 (&values)[Count][Registers]) {
        CKGEN_UNROLL
        for(int i = 0; i < Count; ++i)
            CKGEN_UNROLL
        for(int r = 0; r < Registers; ++r) {
            high[i][r] = (values[i][r] + 0x1000u) & ~0x1fffu;
            low[i][r] = difference(values[i][r], high[i][r]);
        }
    }

private:
    static CKGEN_DEVICE uint32 difference(uint32 x, uint32 y) {
        return __builtin_bit_cast(uint32, __builtin_bit_cast(float, x) - __builtin_bit_cast(float, y));
    }
};

}  // namespace ckgen::atom
