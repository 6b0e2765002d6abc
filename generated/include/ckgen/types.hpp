// Copied by ckgen from templates/include/ckgen/types.hpp. Do not edit; run: ckgen generate
// Scalar types, small vectors and index types that every other header uses.
// No C++ standard header is included: device code must compile with a bare compiler (-nostdinc).
#pragma once

#if !defined(CKGEN_DEVICE_ONLY) && __has_include("ckgen/config.h")
#include "ckgen/config.h"
#endif
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
#include <cuda_fp16.h>
#endif

#if defined(__CUDACC__)
#define CKGEN_HD __host__ __device__ __forceinline__
#define CKGEN_DEVICE __device__ __forceinline__
#elif defined(__HIP__) || defined(__HIPCC__)
#define CKGEN_HD __attribute__((host)) __attribute__((device)) inline __attribute__((always_inline))
#define CKGEN_DEVICE __attribute__((device)) inline __attribute__((always_inline))
#else
#define CKGEN_HD inline
#define CKGEN_DEVICE inline
#endif

// A pass that only produces device code sees no host class and no standard header.
#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__) || defined(CKGEN_DEVICE_ONLY)
#define CKGEN_DEVICE_PASS 1
#else
#define CKGEN_DEVICE_PASS 0
#endif

#if defined(__clang__) || defined(__CUDACC__)
#define CKGEN_UNROLL _Pragma("unroll")
#define CKGEN_PRAGMA(text) _Pragma(#text)
#define CKGEN_UNROLL_BY(number) CKGEN_PRAGMA(unroll number)
#else
#define CKGEN_UNROLL
#define CKGEN_UNROLL_BY(number)
#endif

namespace ckgen {

using int32 = __INT32_TYPE__;
using uint32 = __UINT32_TYPE__;
using int64 = __INT64_TYPE__;
using uint64 = __UINT64_TYPE__;
using uint16 = __UINT16_TYPE__;
using uint8 = __UINT8_TYPE__;
using int8 = __INT8_TYPE__;

using index_t = int32;
using long_index_t = int64;

// IEEE binary16. clang and g++ >= 12 have it as a native type, nvcc as a class. A client of an nvidia library uses the
// class with every compiler, so that both mean one type.
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
using half_t = __half;
#else
using half_t = _Float16;
#endif

// bfloat16: the upper 16 bits of a binary32, as a type of its own so that overloads can tell it from an integer.
struct bhalf_t {
    uint16 bits;
    CKGEN_HD explicit operator float() const { return __builtin_bit_cast(float, static_cast<uint32>(bits) << 16); }
};

CKGEN_HD float to_float(float x) { return x; }
CKGEN_HD float to_float(int8 x) { return static_cast<float>(x); }
CKGEN_HD float to_float(half_t x) { return static_cast<float>(x); }
CKGEN_HD float to_float(bhalf_t x) { return static_cast<float>(x); }

template <class T>
struct Convert;
template <>
struct Convert<float> {
    static CKGEN_HD float from(float x) { return x; }
};
template <>
struct Convert<int8> {
    // Saturates.
    static CKGEN_HD int8 from(int32 x) { return static_cast<int8>(x < -128 ? -128 : x > 127 ? 127 : x); }
    // Rounds to nearest even; a NaN becomes 0. Adding 1.5 * 2^23 leaves the rounded integer in the lowest bits.
    static CKGEN_HD int8 from(float x) {
        const float inside = x < -128.f ? -128.f : x > 127.f ? 127.f : x == x ? x : 0.f;
        return static_cast<int8>(__builtin_bit_cast(uint32, inside + 0x1.8p23f) & 0xffu);
    }
};
template <>
struct Convert<int32> {
    static CKGEN_HD int32 from(int32 x) { return x; }
};
template <>
struct Convert<half_t> {
    static CKGEN_HD half_t from(float x) { return static_cast<half_t>(x); }
};
template <>
struct Convert<bhalf_t> {
    // Rounds to nearest even. A NaN keeps its sign and becomes quiet, so that rounding cannot turn it into Inf.
    static CKGEN_HD bhalf_t from(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        // One instruction; its NaN is quiet. PTX ISA 9.0, 9.7.9.21 (cvt).
        bhalf_t rounded_by_hardware;
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded_by_hardware.bits) : "f"(x));
        return rounded_by_hardware;
#else
        const uint32 u = __builtin_bit_cast(uint32, x);
        const uint32 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
        const uint32 quiet = (u >> 16) | 0x40u;
        const bool is_nan = (u & 0x7fffffffu) > 0x7f800000u;
        return bhalf_t{static_cast<uint16>(is_nan ? quiet : rounded)};
#endif
    }
};

// N elements of T that move as one access. Aligned to its size, at most 16 bytes.
template <class T, int N>
struct alignas(sizeof(T) * N <= 16 ? sizeof(T) * N : 16) Vec {
    T data[N];
    CKGEN_HD T& operator[](int i) { return data[i]; }
    CKGEN_HD const T& operator[](int i) const { return data[i]; }
};

template <class A, class B>
struct IsSame {
    static constexpr bool value = false;
};
template <class A>
struct IsSame<A, A> {
    static constexpr bool value = true;
};

CKGEN_HD constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
CKGEN_HD constexpr int min_of(int a, int b) { return a < b ? a : b; }
CKGEN_HD constexpr int max_of(int a, int b) { return a > b ? a : b; }

enum class ConvSpec { Default, Filter1x1Stride1Pad0 };

}  // namespace ckgen
