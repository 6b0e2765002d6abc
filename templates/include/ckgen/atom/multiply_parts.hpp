// Products of f32 by mma.sync: see atom/tf32_parts.hpp.
#pragma once

#include "ckgen/atom/tf32_parts.hpp"
#include "ckgen/atom/warp_mma.hpp"

namespace ckgen::atom {

// sums(i, j)[q] += result q of the product of fragments i of A and j of B (WarpAccumulator): Rows by Columns blocks of
// 16x8 results. Blocks alternate, so that a product need not wait for the one before it.
template <int Rows, int Columns, class Sums>
CKGEN_DEVICE void multiply_parts(const Tf32Parts<Rows, 4>& a, const Tf32Parts<Columns, 2>& b, const Sums& sums) {
    float products[Rows * Columns][4] = {};
    CKGEN_UNROLL
    for(int block = 0; block < Rows * Columns; ++block)
        mma_m16n8k8(products[block], a.low[block % Rows], b.high[block / Rows], tf32_t{});
    CKGEN_UNROLL
    for(int block = 0; block < Rows * Columns; ++block)
        mma_m16n8k8(products[block], a.high[block % Rows], b.low[block / Rows], tf32_t{});
    CKGEN_UNROLL
    for(int block = 0; block < Rows * Columns; ++block)
        mma_m16n8k8(products[block], a.high[block % Rows], b.high[block / Rows], tf32_t{});
    CKGEN_UNROLL
    for(int block = 0; block < Rows * Columns; ++block)
        CKGEN_UNROLL
    for(int q = 0; q < 4; ++q)
        sums(block % Rows, block / Rows)[q] += products[block][q];
}

}  // namespace ckgen::atom
