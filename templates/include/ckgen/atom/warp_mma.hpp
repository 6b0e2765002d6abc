// One warp's m16n8k16 and m16n8k8: its lanes, and the multiplication on the current platform.
#pragma once

#include "ckgen/atom/tf32_parts.hpp"
#include "ckgen/atom/warp_mma_lanes.hpp"
#include "ckgen/compute_types.hpp"

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/atom/warp_mma_host.hpp"
#else
#include "ckgen/atom/mma_instructions.hpp"
#endif

namespace ckgen::atom {

// The low (which = 0) or high halves of two words as one word: a pair of elements of a fragment.
CKGEN_DEVICE uint32 half_of(int which, uint32 a, uint32 b) {
    return which == 0 ? platform::merge_halves<false>(a, b) : platform::merge_halves<true>(a, b);
}

// Element `at` of each of Word rows as a register of a fragment. A row: an array of words of Word elements.
template <int Word, class Row>
CKGEN_DEVICE uint32 along_k(int at, const Row* rows) {
    if constexpr(Word == 2)
        return half_of(at % 2, rows[0][at / 2], rows[1][at / 2]);
    else
        return rows[0][at];
}

// A register of a fragment as multiply_32_bytes() takes it: f32 rounded to tf32 for that type.
template <class T>
CKGEN_DEVICE uint32 operand(uint32 bits, T) {
    return bits;
}
CKGEN_DEVICE uint32 operand(uint32 bits, tf32_t) {
    return __builtin_bit_cast(uint32, Convert<tf32_t>::from(__builtin_bit_cast(float, bits)).value);
}

// The products of f32 of 16 rows and Columns times 8 columns with 32 bytes of GEMM-K, by two numbers of tf32 per
// element (atom/tf32_parts.hpp). `products`: zeros; threads add them to their sums, because tensor cores round sums
// toward zero.
template <int Columns>
CKGEN_DEVICE void multiply_parts(float (&products)[Columns][4], const uint32 (&a)[1][4],
                                 const uint32 (&b)[Columns][2]) {
    const Tf32Parts<1, 4> row(a);
    const Tf32Parts<Columns, 2> columns(b);
    CKGEN_UNROLL
    for(int j = 0; j < Columns; ++j)  // those of a fragment need not wait for each other
        mma_m16n8k8(products[j], row.low[0], columns.high[j], tf32_t{});
    CKGEN_UNROLL
    for(int j = 0; j < Columns; ++j)
        mma_m16n8k8(products[j], row.high[0], columns.low[j], tf32_t{});
    CKGEN_UNROLL
    for(int j = 0; j < Columns; ++j)
        mma_m16n8k8(products[j], row.high[0], columns.high[j], tf32_t{});
}

// c += the product of 16 rows and 8 columns with 32 bytes of GEMM-K.
template <class T>
CKGEN_DEVICE void multiply_32_bytes(float (&c)[4], const uint32 (&a)[1][4], const uint32 (&b)[1][2], T type) {
    mma_m16n8k16(c, a[0], b[0], type);
}
CKGEN_DEVICE void multiply_32_bytes(float (&c)[4], const uint32 (&a)[1][4], const uint32 (&b)[1][2], tf32_t type) {
    mma_m16n8k8(c, a[0], b[0], type);
}
CKGEN_DEVICE void multiply_32_bytes(float (&c)[4], const uint32 (&a)[1][4], const uint32 (&b)[1][2], float) {
    float products[1][4] = {};
    multiply_parts(products, a, b);
    CKGEN_UNROLL
    for(int q = 0; q < 4; ++q)
        c[q] += products[0][q];
}

}  // namespace ckgen::atom
