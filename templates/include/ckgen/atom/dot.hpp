// The atom of dot products: every lane of a wave of 64 sums the outer products of its rows of A and columns of B, pairs
// of GEMM-K at a time (int8: four) where the architecture has an instruction. "RDNA2 ISA" and "RDNA3 ISA", VOP3P:
// V_DOT2_F32_F16, V_DOT2_F32_BF16, V_DOT4_I32_I8 and V_DOT4_I32_IU8.
#pragma once

#include "ckgen/atom/lane_map.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

#if defined(CKGEN_PLATFORM_AMD) && CKGEN_PLATFORM_AMD
#define CKGEN_DOT_F16 CKGEN_AMD_DOT_F16
#define CKGEN_DOT_BF16 CKGEN_AMD_DOT_BF16
#define CKGEN_DOT_I8 CKGEN_AMD_DOT_I8
#else
#define CKGEN_DOT_F16 0
#define CKGEN_DOT_BF16 0
#define CKGEN_DOT_I8 0
#endif

// True for types whose elements are converted before they are multiplied.
template <class T>
inline constexpr bool kDotConverts = sizeof(T) == 1;
template <>
inline constexpr bool kDotConverts<half_t> = !CKGEN_DOT_F16;
template <>
inline constexpr bool kDotConverts<bhalf_t> = !CKGEN_DOT_BF16;
template <>
inline constexpr bool kDotConverts<int8> = !CKGEN_DOT_I8;

// The elements of GEMM-K that one product takes.
template <class T>
inline constexpr int kDotWidth = 2;
template <>
inline constexpr int kDotWidth<int8> = 4;

// sum + the products of neighbouring elements of a and b.
template <class TA, class TB, int N>
CKGEN_DEVICE Sum<TA, TB> dot(const Vec<TA, N>& a, const Vec<TB, N>& b, Sum<TA, TB> sum) {
    CKGEN_UNROLL
    for(int k = 0; k < N; ++k)
        sum += factor(a[k]) * factor(b[k]);
    return sum;
}
#if CKGEN_DOT_F16
using F16x2 = _Float16 __attribute__((ext_vector_type(2)));

CKGEN_DEVICE float dot(const Vec<half_t, 2>& a, const Vec<half_t, 2>& b, float sum) {
    return __builtin_amdgcn_fdot2(__builtin_bit_cast(F16x2, a), __builtin_bit_cast(F16x2, b), sum, false);
}
#endif
#if CKGEN_DOT_BF16
// clang before 19 has this builtin for integers, and some no __bf16 for AMD.
#if __clang_major__ >= 19
using BF16x2 = __bf16 __attribute__((ext_vector_type(2)));
#else
using BF16x2 = short __attribute__((ext_vector_type(2)));
#endif

CKGEN_DEVICE float dot(const Vec<bhalf_t, 2>& a, const Vec<bhalf_t, 2>& b, float sum) {
    return __builtin_amdgcn_fdot2_f32_bf16(__builtin_bit_cast(BF16x2, a), __builtin_bit_cast(BF16x2, b), sum, false);
}
#endif

#if CKGEN_DOT_I8
// V_DOT4_I32_I8 until gfx10; from gfx11 on its successor, for which the first and third operand say "signed".
CKGEN_DEVICE int32 dot(const Vec<int8, 4>& a, const Vec<int8, 4>& b, int32 sum) {
    const int x = __builtin_bit_cast(int, a);
    const int y = __builtin_bit_cast(int, b);
#if CKGEN_AMD_WMMA
    return __builtin_amdgcn_sudot4(true, x, true, y, sum, false);
#else
    return __builtin_amdgcn_sdot4(x, y, sum, false);
#endif
}
#endif

template <int Size>
struct DotAtom {
    static_assert(Size == 32, "a lane has 4 x 4 results of an atom");
    using Map = DotAccumulator;
    static constexpr bool reads_ahead = false;  // step() reads its operands from LDS one by one
    static constexpr int planes = 2;            // of a step

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR, int Steps>
    static CKGEN_DEVICE void order(const platform::Thread&) {}

    // The first row and column of a lane in a tile.
    template <class LayoutA, class LayoutB, int MR, int NR>
    struct Lane {
        int a, b;
        CKGEN_DEVICE Lane(const platform::Thread& thread, int lane, int a_slot, int b_slot)
            : a(thread.pin(LayoutA::byte_of(0, a_slot + Map::row(lane, 0)))),
              b(thread.pin(LayoutB::byte_of(0, b_slot + Map::column(lane, 0)))) {}
    };

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void step(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& lane,
                                  int a_base, int b_base, Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        CKGEN_UNROLL
        for(int plane = 0; plane < planes; ++plane)
            multiply<TA, TB, LayoutA, LayoutB>(thread, lane.a, lane.b, a_base + LayoutA::byte_of(plane, 0),
                                               b_base + LayoutB::byte_of(plane, 0), acc);
    }

private:
    // A 16-byte slot, in the parts that one product takes.
    template <class T>
    struct Slot {
        static constexpr int width = kDotWidth<T>;
        Vec<T, width> part[16 / (width * static_cast<int>(sizeof(T)))];
    };

    // One plane: the rows and columns of a lane are eight slots apart.
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void multiply(const platform::Thread& thread, int a_lane, int b_lane, int a_plane, int b_plane,
                                      Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        static_assert(sizeof(TA) == sizeof(TB), "slots of A and B have the same rows of GEMM-K");
        constexpr int parts = 16 / (Slot<TA>::width * static_cast<int>(sizeof(TA)));
        Slot<TA> a[4 * MR];
        Slot<TB> b[4 * NR];
        CKGEN_UNROLL
        for(int i = 0; i < 4 * MR; ++i)
            a[i] = thread.lds_load<Slot<TA>>(a_lane + (a_plane + LayoutA::byte_of(0, 8 * i)));
        CKGEN_UNROLL
        for(int j = 0; j < 4 * NR; ++j)
            b[j] = thread.lds_load<Slot<TB>>(b_lane + (b_plane + LayoutB::byte_of(0, 8 * j)));
        CKGEN_UNROLL
        for(int k = 0; k < parts; ++k) {
            // Otherwise the compiler converts all elements first, for which there are no registers.
            if constexpr(kDotConverts<TA> || kDotConverts<TB>)
                thread.schedule_boundary();
            CKGEN_UNROLL
            for(int i = 0; i < 4 * MR; ++i)
                CKGEN_UNROLL
            for(int j = 0; j < 4 * NR; ++j) {
                Sum<TA, TB>& sum = acc[i / 4][j / 4][i % 4 * 4 + j % 4];
                sum = dot(a[i].part[k], b[j].part[k], sum);
            }
        }
    }
};

}  // namespace ckgen::atom
