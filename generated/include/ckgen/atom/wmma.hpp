// Copied by ckgen from templates/include/ckgen/atom/wmma.hpp. Do not edit; run: ckgen generate
// WMMA atoms of gfx11 and gfx12: 16x16, by waves of 32. A step takes two planes of LDS slots, which is one instruction
// of 16-bit elements and two of int8. Instruction names: "RDNA3 ISA" and "RDNA4 ISA", 7.9.
#pragma once

#include "ckgen/atom/wmma_lanes.hpp"
#include "ckgen/platform/platform.hpp"
#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/atom/wmma_host.hpp"
#endif

namespace ckgen::atom {

#if defined(CKGEN_PLATFORM_AMD) && CKGEN_PLATFORM_AMD
// A pass without WMMA, such as the host pass, compiles no multiplication.
inline constexpr int kWmmaGeneration = CKGEN_AMD_WMMA > 0 ? CKGEN_AMD_WMMA : 11;

#if CKGEN_AMD_WMMA
template <class Element>
using WmmaRegisters = Element __attribute__((ext_vector_type(kWmmaGeneration == 11 ? 16 : 8)));
using F32x8 = float __attribute__((ext_vector_type(8)));
using I32x8 = int32 __attribute__((ext_vector_type(8)));

CKGEN_DEVICE F32x8 wmma(const WmmaFragment<half_t, kWmmaGeneration>& a, const WmmaFragment<half_t, kWmmaGeneration>& b,
                        F32x8 c) {
    const auto x = __builtin_bit_cast(WmmaRegisters<_Float16>, a);
    const auto y = __builtin_bit_cast(WmmaRegisters<_Float16>, b);
#if CKGEN_AMD_WMMA == 11
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(x, y, c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(x, y, c);
#endif
}
CKGEN_DEVICE F32x8 wmma(const WmmaFragment<bhalf_t, kWmmaGeneration>& a,
                        const WmmaFragment<bhalf_t, kWmmaGeneration>& b, F32x8 c) {
    const auto x = __builtin_bit_cast(WmmaRegisters<short>, a);
    const auto y = __builtin_bit_cast(WmmaRegisters<short>, b);
#if CKGEN_AMD_WMMA == 11
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, c);
#else
    return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, c);
#endif
}
CKGEN_DEVICE I32x8 wmma(const WmmaFragment<int8, kWmmaGeneration>& a, const WmmaFragment<int8, kWmmaGeneration>& b,
                        I32x8 c) {
    using Words = int32 __attribute__((ext_vector_type(kWmmaGeneration == 11 ? 4 : 2)));
    struct Pair {
        Words part[2];
    };
    const auto x = __builtin_bit_cast(Pair, a);
    const auto y = __builtin_bit_cast(Pair, b);
    CKGEN_UNROLL
    for(int i = 0; i < 2; ++i) {
#if CKGEN_AMD_WMMA == 11
        c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x.part[i], true, y.part[i], c, false);
#else
        c = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x.part[i], true, y.part[i], c, false);
#endif
    }
    return c;
}
#endif

// acc[i][j] += a[i] * b[j] for the wave's whole grid of atoms.
template <class TA, class TB, int MR, int NR>
CKGEN_DEVICE void wmma_multiply(const platform::Thread&, const WmmaFragment<TA, kWmmaGeneration> (&a)[MR],
                                const WmmaFragment<TB, kWmmaGeneration> (&b)[NR],
                                Accumulator<16, TA, TB, 32> (&acc)[MR][NR]) {
#if CKGEN_AMD_WMMA
    using Registers = Sum<TA, TB> __attribute__((ext_vector_type(8)));
    CKGEN_UNROLL
    for(int i = 0; i < MR; ++i)
        CKGEN_UNROLL
    for(int j = 0; j < NR; ++j) {
        const auto sums = wmma(a[i], b[j], __builtin_bit_cast(Registers, acc[i][j]));
        acc[i][j] = __builtin_bit_cast(decltype(Accumulator<16, TA, TB, 32>{}), sums);
    }
#else
    static_cast<void>(a);
    static_cast<void>(b);
    static_cast<void>(acc);
#endif
}
#endif

template <int Size>
struct WmmaAtom {
    static_assert(Size == 16, "WMMA atoms are 16x16");
    using Map = WmmaMap<kWmmaGeneration>;
    static constexpr bool reads_ahead = false;  // step() reads its operands from LDS one by one

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR, int Steps>
    static CKGEN_DEVICE void order(const platform::Thread&) {}

    // Places of a lane in the tiles; a_slot and b_slot are the first slots of the wave's first atom.
    template <class LayoutA, class LayoutB, int MR, int NR>
    struct Lane {
        int a, b;
        CKGEN_DEVICE Lane(const platform::Thread& thread, int lane, int a_slot, int b_slot)
            : a(thread.pin(LayoutA::byte_of(Map::plane(lane), a_slot + Map::a_row(lane)))),
              b(thread.pin(LayoutB::byte_of(Map::plane(lane), b_slot + Map::b_column(lane)))) {}
    };

    // One GEMM-K step: acc[i][j] += A[i] * B[j] for the wave's MR x NR atoms. a_base and b_base: LDS bytes of the
    // step's first planes.
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void step(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& lane,
                                  int a_base, int b_base, Accumulator<16, TA, TB, 32> (&acc)[MR][NR]) {
        WmmaFragment<TA, kWmmaGeneration> a[MR];
        WmmaFragment<TB, kWmmaGeneration> b[NR];
        CKGEN_UNROLL
        for(int i = 0; i < MR; ++i)
            a[i] = load<TA, LayoutA>(thread, lane.a, a_base, i);
        CKGEN_UNROLL
        for(int j = 0; j < NR; ++j)
            b[j] = load<TB, LayoutB>(thread, lane.b, b_base, j);
        wmma_multiply<TA, TB>(thread, a, b, acc);
    }

private:
    template <class T, class Layout>
    static CKGEN_DEVICE WmmaFragment<T, kWmmaGeneration> load(const platform::Thread& thread, int lane, int base,
                                                              int atom) {
        struct Slots {
            Fragment<T> slot[Map::slots];
        };
        Slots slots;
        CKGEN_UNROLL
        for(int s = 0; s < Map::slots; ++s)
            slots.slot[s] = thread.lds_load<Fragment<T>>(lane + (base + Layout::byte_of(s, atom * Size)));
        return __builtin_bit_cast(WmmaFragment<T, kWmmaGeneration>, slots);
    }
};

}  // namespace ckgen::atom
