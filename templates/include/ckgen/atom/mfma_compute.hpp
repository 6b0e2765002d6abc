// MFMA for compute types: int8, tf32 and 8-bit floating point. The pair of a 16-byte fragment of A and of B per lane is
// multiplied as in mfma.hpp, by the instructions that an architecture has: int8 has its own on all; gfx942 alone has
// one for tf32, the others multiply its values as f32; gfx908 and gfx90a have none for 8-bit floating point and
// multiply these values as bf16, which holds all of them; their f16 instructions would read the least ones, subnormal
// numbers there, as zero. "AMD Instinct MI200 / CDNA3 / CDNA4 ISA", chapter 7.
#pragma once

#include "ckgen/atom/lane_map.hpp"
#include "ckgen/platform/platform.hpp"

#if defined(CKGEN_PLATFORM_AMD) && CKGEN_PLATFORM_AMD && CKGEN_AMD_MFMA

namespace ckgen::atom {

template <class T, int N>
using Lanes = T __attribute__((ext_vector_type(N)));
template <int N>
using F32Lanes = Lanes<float, N>;
template <int N>
using I32Lanes = Lanes<int32, N>;
using S16x4 = short __attribute__((ext_vector_type(4)));
using F32x2 = float __attribute__((ext_vector_type(2)));
using I32x4 = int32 __attribute__((ext_vector_type(4)));

template <class V>
struct Halves {
    V low, high;
};

// As one instruction, or as two that each take one half.
#if defined(__gfx950__)
CKGEN_DEVICE I32Lanes<16> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<16> c) {
    return __builtin_amdgcn_mfma_i32_32x32x32_i8(__builtin_bit_cast(I32x4, a), __builtin_bit_cast(I32x4, b), c, 0, 0,
                                                 0);
}
CKGEN_DEVICE I32Lanes<4> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<4> c) {
    return __builtin_amdgcn_mfma_i32_16x16x64_i8(__builtin_bit_cast(I32x4, a), __builtin_bit_cast(I32x4, b), c, 0, 0,
                                                 0);
}
#elif defined(__gfx942__)
CKGEN_DEVICE I32Lanes<16> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<int64>, a);
    const auto y = __builtin_bit_cast(Halves<int64>, b);
    c = __builtin_amdgcn_mfma_i32_32x32x16_i8(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_32x32x16_i8(x.high, y.high, c, 0, 0, 0);
}
CKGEN_DEVICE I32Lanes<4> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<int64>, a);
    const auto y = __builtin_bit_cast(Halves<int64>, b);
    c = __builtin_amdgcn_mfma_i32_16x16x32_i8(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_i32_16x16x32_i8(x.high, y.high, c, 0, 0, 0);
}
#else
CKGEN_DEVICE I32Lanes<16> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<16> c) {
    const auto x = __builtin_bit_cast(I32x4, a);
    const auto y = __builtin_bit_cast(I32x4, b);
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_i32_32x32x8i8(x[i], y[i], c, 0, 0, 0);
    return c;
}
CKGEN_DEVICE I32Lanes<4> mfma(const Fragment<int8>& a, const Fragment<int8>& b, I32Lanes<4> c) {
    const auto x = __builtin_bit_cast(I32x4, a);
    const auto y = __builtin_bit_cast(I32x4, b);
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_i32_16x16x16i8(x[i], y[i], c, 0, 0, 0);
    return c;
}
#endif

#if defined(__gfx942__)
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<tf32_t>& a, const Fragment<tf32_t>& b, F32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<F32x2>, a);
    const auto y = __builtin_bit_cast(Halves<F32x2>, b);
    c = __builtin_amdgcn_mfma_f32_32x32x4_xf32(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x4_xf32(x.high, y.high, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<tf32_t>& a, const Fragment<tf32_t>& b, F32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<F32x2>, a);
    const auto y = __builtin_bit_cast(Halves<F32x2>, b);
    c = __builtin_amdgcn_mfma_f32_16x16x8_xf32(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x8_xf32(x.high, y.high, c, 0, 0, 0);
}
#else
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<tf32_t>& a, const Fragment<tf32_t>& b, F32Lanes<16> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i].value, b[i].value, c, 0, 0, 0);
    return c;
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<tf32_t>& a, const Fragment<tf32_t>& b, F32Lanes<4> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i].value, b[i].value, c, 0, 0, 0);
    return c;
}
#endif

#if defined(__gfx942__) || defined(__gfx950__)
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<bf8_t>& a, const Fragment<f8_t>& b, F32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<int64>, a);
    const auto y = __builtin_bit_cast(Halves<int64>, b);
    c = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(x.high, y.high, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<bf8_t>& a, const Fragment<f8_t>& b, F32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<int64>, a);
    const auto y = __builtin_bit_cast(Halves<int64>, b);
    c = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(x.high, y.high, c, 0, 0, 0);
}
#else
// Four elements from `first` on as bf16, without rounding.
template <class T>
CKGEN_DEVICE S16x4 as_bf16(const Fragment<T>& x, int first) {
    S16x4 wide;
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        wide[i] = static_cast<short>(__builtin_bit_cast(uint32, to_float(x[first + i])) >> 16);
    return wide;
}
#if CKGEN_AMD_MFMA == 1
CKGEN_DEVICE F32Lanes<16> mfma_bf16(S16x4 a, S16x4 b, F32Lanes<16> c) {
    c = __builtin_amdgcn_mfma_f32_32x32x4bf16(a.lo, b.lo, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x4bf16(a.hi, b.hi, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma_bf16(S16x4 a, S16x4 b, F32Lanes<4> c) {
    c = __builtin_amdgcn_mfma_f32_16x16x8bf16(a.lo, b.lo, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x8bf16(a.hi, b.hi, c, 0, 0, 0);
}
#else
CKGEN_DEVICE F32Lanes<16> mfma_bf16(S16x4 a, S16x4 b, F32Lanes<16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma_bf16(S16x4 a, S16x4 b, F32Lanes<4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0);
}
#endif
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<bf8_t>& a, const Fragment<f8_t>& b, F32Lanes<16> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 16; i += 4)
        c = mfma_bf16(as_bf16(a, i), as_bf16(b, i), c);
    return c;
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<bf8_t>& a, const Fragment<f8_t>& b, F32Lanes<4> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 16; i += 4)
        c = mfma_bf16(as_bf16(a, i), as_bf16(b, i), c);
    return c;
}
#endif

}  // namespace ckgen::atom

#endif
