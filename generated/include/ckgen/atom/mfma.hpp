// Copied by ckgen from templates/include/ckgen/atom/mfma.hpp. Do not edit; run: ckgen generate
// MFMA atoms. One multiply() takes a 16-byte fragment of A and of B per lane: a GEMM-K step of 16 (8 for f32) at 32x32
// and of 32 (16 for f32) at 16x16. gfx950 has instructions of that depth; gfx90a and gfx942 issue two (f32: four);
// gfx908 issues four of bf16. Instruction names and depths: LLVM AMDGPUUsage / "AMD Instinct MI200 / CDNA3 / CDNA4
// ISA", chapter 7.
#pragma once

#include "ckgen/atom/mfma_compute.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

#if defined(CKGEN_PLATFORM_AMD) && CKGEN_PLATFORM_AMD
#define CKGEN_HAS_MFMA (CKGEN_AMD_MFMA > 0)

#if CKGEN_HAS_MFMA

// True for types of which mfma() multiplies fragments. Kernels multiply others with the portable atom.
template <class TA, class TB>
inline constexpr bool kMatrixOperands = IsSame<TA, bf8_t>::value && IsSame<TB, f8_t>::value;
template <>
inline constexpr bool kMatrixOperands<float, float> = true;
template <>
inline constexpr bool kMatrixOperands<tf32_t, tf32_t> = true;
template <>
inline constexpr bool kMatrixOperands<half_t, half_t> = true;
template <>
inline constexpr bool kMatrixOperands<bhalf_t, bhalf_t> = true;
template <>
inline constexpr bool kMatrixOperands<int8, int8> = true;

using F16x4 = _Float16 __attribute__((ext_vector_type(4)));
using F16x8 = _Float16 __attribute__((ext_vector_type(8)));
using S16x2 = short __attribute__((ext_vector_type(2)));

// The overload set picks the instruction by element type and shape.
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<float>& a, const Fragment<float>& b, F32Lanes<16> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i], b[i], c, 0, 0, 0);
    return c;
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<float>& a, const Fragment<float>& b, F32Lanes<4> c) {
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i], b[i], c, 0, 0, 0);
    return c;
}

#if defined(__gfx950__)
using BF16x8 = __bf16 __attribute__((ext_vector_type(8)));

CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<half_t>& a, const Fragment<half_t>& b, F32Lanes<16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_f16(__builtin_bit_cast(F16x8, a), __builtin_bit_cast(F16x8, b), c, 0, 0,
                                                  0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<half_t>& a, const Fragment<half_t>& b, F32Lanes<4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(F16x8, a), __builtin_bit_cast(F16x8, b), c, 0, 0,
                                                  0);
}
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<16> c) {
    return __builtin_amdgcn_mfma_f32_32x32x16_bf16(__builtin_bit_cast(BF16x8, a), __builtin_bit_cast(BF16x8, b), c, 0,
                                                   0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<4> c) {
    return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(BF16x8, a), __builtin_bit_cast(BF16x8, b), c, 0,
                                                   0, 0);
}
#else
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<half_t>& a, const Fragment<half_t>& b, F32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<F16x4>, a);
    const auto y = __builtin_bit_cast(Halves<F16x4>, b);
    c = __builtin_amdgcn_mfma_f32_32x32x8f16(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8f16(x.high, y.high, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<half_t>& a, const Fragment<half_t>& b, F32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<F16x4>, a);
    const auto y = __builtin_bit_cast(Halves<F16x4>, b);
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16f16(x.high, y.high, c, 0, 0, 0);
}
#if CKGEN_AMD_MFMA == 1
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<Halves<S16x2>>, a);
    const auto y = __builtin_bit_cast(Halves<Halves<S16x2>>, b);
    c = __builtin_amdgcn_mfma_f32_32x32x4bf16(x.low.low, y.low.low, c, 0, 0, 0);
    c = __builtin_amdgcn_mfma_f32_32x32x4bf16(x.low.high, y.low.high, c, 0, 0, 0);
    c = __builtin_amdgcn_mfma_f32_32x32x4bf16(x.high.low, y.high.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x4bf16(x.high.high, y.high.high, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<Halves<S16x2>>, a);
    const auto y = __builtin_bit_cast(Halves<Halves<S16x2>>, b);
    c = __builtin_amdgcn_mfma_f32_16x16x8bf16(x.low.low, y.low.low, c, 0, 0, 0);
    c = __builtin_amdgcn_mfma_f32_16x16x8bf16(x.low.high, y.low.high, c, 0, 0, 0);
    c = __builtin_amdgcn_mfma_f32_16x16x8bf16(x.high.low, y.high.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x8bf16(x.high.high, y.high.high, c, 0, 0, 0);
}
#else
CKGEN_DEVICE F32Lanes<16> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<16> c) {
    const auto x = __builtin_bit_cast(Halves<S16x4>, a);
    const auto y = __builtin_bit_cast(Halves<S16x4>, b);
    c = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x.high, y.high, c, 0, 0, 0);
}
CKGEN_DEVICE F32Lanes<4> mfma(const Fragment<bhalf_t>& a, const Fragment<bhalf_t>& b, F32Lanes<4> c) {
    const auto x = __builtin_bit_cast(Halves<S16x4>, a);
    const auto y = __builtin_bit_cast(Halves<S16x4>, b);
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.low, y.low, c, 0, 0, 0);
    return __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x.high, y.high, c, 0, 0, 0);
}
#endif
#endif

// acc[i][j] += a[i] * b[j] for the wave's whole grid of atoms.
template <int Size, class TA, class TB, int MR, int NR>
CKGEN_DEVICE void multiply(const platform::Thread&, const Fragment<TA> (&a)[MR], const Fragment<TB> (&b)[NR],
                           Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
    using Registers = Lanes<Sum<TA, TB>, MfmaAccumulator<Size>::registers>;
    CKGEN_UNROLL
    for(int i = 0; i < MR; ++i)
        CKGEN_UNROLL
    for(int j = 0; j < NR; ++j)
        acc[i][j] =
            __builtin_bit_cast(Accumulator<Size, TA, TB>, mfma(a[i], b[j], __builtin_bit_cast(Registers, acc[i][j])));
}
#endif  // CKGEN_HAS_MFMA

#else  // host

template <class TA, class TB>
inline constexpr bool kMatrixOperands = true;

// The operands of one lane in the wave's collective multiply.
template <int Size, class TA, class TB, int MR, int NR>
struct LaneOperands {
    using Number = Sum<TA, TB>;
    const Fragment<TA>* a;
    const Fragment<TB>* b;
    Accumulator<Size, TA, TB>* acc;

    static void execute(void* const* lanes) {
        using Operand = MfmaOperand<Size>;
        constexpr int k1 = 16 / static_cast<int>(sizeof(TA));
        constexpr int depth = k1 * Operand::planes;
        Number rows[MR * Size][depth];
        Number columns[depth][NR * Size];
        for(int lane = 0; lane < 64; ++lane) {
            const LaneOperands& mine = *static_cast<const LaneOperands*>(lanes[lane]);
            const int k0 = Operand::plane(lane) * k1;
            for(int i = 0; i < MR; ++i)
                for(int e = 0; e < k1; ++e)
                    rows[i * Size + Operand::row(lane)][k0 + e] = factor(mine.a[i][e]);
            for(int j = 0; j < NR; ++j)
                for(int e = 0; e < k1; ++e)
                    columns[k0 + e][j * Size + Operand::row(lane)] = factor(mine.b[j][e]);
        }
        Number product[MR * Size][NR * Size];
        for(int row = 0; row < MR * Size; ++row) {
            Number sums[NR * Size] = {};
            for(int k = 0; k < depth; ++k)
                for(int column = 0; column < NR * Size; ++column)
                    sums[column] += rows[row][k] * columns[k][column];
            for(int column = 0; column < NR * Size; ++column)
                product[row][column] = sums[column];
        }
        using Map = MfmaAccumulator<Size>;
        for(int lane = 0; lane < 64; ++lane) {
            Accumulator<Size, TA, TB>* acc = static_cast<const LaneOperands*>(lanes[lane])->acc;
            for(int i = 0; i < MR; ++i)
                for(int j = 0; j < NR; ++j)
                    for(int r = 0; r < Map::registers; ++r)
                        acc[i * NR + j][r] += product[i * Size + Map::row(lane, r)][j * Size + Map::column(lane, r)];
        }
    }
};

template <int Size, class TA, class TB, int MR, int NR>
void multiply(const platform::Thread& thread, const Fragment<TA> (&a)[MR], const Fragment<TB> (&b)[NR],
              Accumulator<Size, TA, TB> (&acc)[MR][NR], platform::Site site = platform::Site::here()) {
    LaneOperands<Size, TA, TB, MR, NR> mine{a, b, &acc[0][0]};
    thread.collective(&mine, &LaneOperands<Size, TA, TB, MR, NR>::execute, site);
}
#endif

#if !defined(CKGEN_HAS_MFMA) || CKGEN_HAS_MFMA
// Places of a lane's fragments in a tile, for one operand's `Count` atoms. In slots, the next atom is a constant
// further.
template <class Layout, int Size, int Count, bool ByRows>
struct OperandLane {
    int at;
    CKGEN_DEVICE OperandLane(const platform::Thread& thread, int lane, int first_slot)
        : at(thread.pin(Layout::byte_of(MfmaOperand<Size>::plane(lane), first_slot + MfmaOperand<Size>::row(lane)))) {}

    template <class T>
    CKGEN_DEVICE Fragment<T> load(const platform::Thread& thread, int base, int atom) const {
        if constexpr(Layout::by_columns) {  // a step's planes are permuted with the others of their column
            const int planes = base % Layout::column_bytes;
            return thread.lds_load<Fragment<T>>((at ^ planes) + (base - planes + Layout::byte_of(0, atom * Size)));
        } else {
            return thread.lds_load<Fragment<T>>(at + (base + Layout::byte_of(0, atom * Size)));
        }
    }
};
// In rows, 16 lanes give the addresses of four rows of 16 columns, a quarter row each, and get one column each; two
// such reads make a fragment.
template <class Layout, int Size, int Count>
struct OperandLane<Layout, Size, Count, true> {
    int at[Count];
    CKGEN_DEVICE OperandLane(const platform::Thread& thread, int lane, int first_slot) {
        CKGEN_UNROLL
        for(int i = 0; i < Count; ++i)
            at[i] = thread.pin(
                Layout::byte_of(MfmaOperand<Size>::plane(lane), lane % 16 / 4,
                                first_slot + i * Size + MfmaOperand<Size>::row(lane) / 16 * 16 + lane % 4 * 4));
    }

    template <class T>
    CKGEN_DEVICE Fragment<T> load(const platform::Thread& thread, int base, int atom) const {
        return thread.lds_load_transposed<Fragment<T>>(at[atom] + base, at[atom] + (base + 4 * Layout::row_bytes));
    }
};

template <int Size>
struct MfmaAtom {
    using Map = MfmaAccumulator<Size>;
    static constexpr bool reads_ahead = true;  // read() and product() are the parts of step()

    // Schedules the reads of some steps between two boundaries. Otherwise the reads of a step follow the last matrix
    // instruction of the previous step, into the same registers. In rows the compiler reads ahead without this.
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR, int Steps>
    static CKGEN_DEVICE void order(const platform::Thread& thread) {
        if constexpr(!LayoutA::by_rows && !LayoutB::by_rows)
            thread.interleave<Steps, MR + NR, MR * NR * (sizeof(TA) == 4 ? 4 : 2)>();
    }

    // Places of a lane in the tiles; a_slot and b_slot are the first slots of the wave's first atom.
    template <class LayoutA, class LayoutB, int MR, int NR>
    struct Lane {
        OperandLane<LayoutA, Size, MR, LayoutA::by_rows> a;
        OperandLane<LayoutB, Size, NR, LayoutB::by_rows> b;
        CKGEN_DEVICE Lane(const platform::Thread& thread, int lane, int a_slot, int b_slot)
            : a(thread, lane, a_slot), b(thread, lane, b_slot) {}
    };

    // The operands of one step.
    template <class TA, class TB, int MR, int NR>
    struct Fragments {
        Fragment<TA> a[MR];
        Fragment<TB> b[NR];
    };
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void read(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& lane,
                                  int a_base, int b_base, Fragments<TA, TB, MR, NR>& fragments) {
        CKGEN_UNROLL
        for(int i = 0; i < MR; ++i)
            fragments.a[i] = lane.a.template load<TA>(thread, a_base, i);
        CKGEN_UNROLL
        for(int j = 0; j < NR; ++j)
            fragments.b[j] = lane.b.template load<TB>(thread, b_base, j);
    }
    template <class TA, class TB, int MR, int NR>
    static CKGEN_DEVICE void product(const platform::Thread& thread, const Fragments<TA, TB, MR, NR>& fragments,
                                     Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        multiply<Size, TA, TB>(thread, fragments.a, fragments.b, acc);
    }

    // One GEMM-K step: acc[i][j] += A[i] * B[j] for the wave's MR x NR atoms. a_base and b_base: LDS bytes of the
    // step's first planes.
    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void step(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& lane,
                                  int a_base, int b_base, Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        Fragment<TA> a[MR];
        Fragment<TB> b[NR];
        CKGEN_UNROLL
        for(int i = 0; i < MR; ++i)
            a[i] = lane.a.template load<TA>(thread, a_base, i);
        CKGEN_UNROLL
        for(int j = 0; j < NR; ++j)
            b[j] = lane.b.template load<TB>(thread, b_base, j);
        multiply<Size, TA, TB>(thread, a, b, acc);
    }
};
#endif

}  // namespace ckgen::atom
