// Copied by ckgen from templates/include/ckgen/atom/mma_sync.hpp. Do not edit; run: ckgen generate
// NVIDIA's mma.sync atoms. A logical wave of 64 lanes is two warps; each takes half of an atom's columns and issues
// m16n8 with 32 bytes of GEMM-K. PTX ISA 9.0, 9.7.14.5.8 (fragments of mma.m16n8k16; those of m16n8k8 for tf32 and of
// m16n8k32 for int8 hold the same bytes) and 9.7.14.5.15 (ldmatrix): a row of an 8x8 matrix is 16 bytes of GEMM-K for
// one row of A or column of B, which is exactly one slot of LdsLayout.
#pragma once

#include "ckgen/atom/lane_map.hpp"
#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

// f32 as the sum of two numbers of tf32 where three products of tf32 are faster than the vector unit: on GPUs for data
// centers. On the others tf32 has at most the vector unit's rate ("NVIDIA Ampere GA102 GPU architecture" and "NVIDIA
// Ada GPU architecture", tables of peak rates).
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000)
template <class T>
inline constexpr bool kTf32Parts = IsSame<T, float>::value;
#else
template <class T>
inline constexpr bool kTf32Parts = false;
#endif

// True for types that mma.sync multiplies at full precision; kernels multiply others with the portable atom.
template <class TA, class TB>
inline constexpr bool kMatrixOperands =
    IsSame<TA, TB>::value && (kTf32Parts<TA> || IsSame<TA, half_t>::value || IsSame<TA, bhalf_t>::value ||
                              IsSame<TA, tf32_t>::value || IsSame<TA, int8>::value);

// 32 bytes of GEMM-K: sums(j)[q] += result q of the product of `a` and fragment j of B. For every type of
// kMatrixOperands.
template <int Columns, class Sums, class T>
CKGEN_DEVICE void multiply_two_planes(const uint32 (&a)[1][4], const uint32 (&b)[Columns][2], const Sums& sums,
                                      T type) {
    CKGEN_UNROLL
    for(int j = 0; j < Columns; ++j) {
        auto into = sums(j);
        Sum<T, T> c[4];
        CKGEN_UNROLL
        for(int q = 0; q < 4; ++q)
            c[q] = into[q];
        if constexpr(IsSame<T, tf32_t>::value)
            mma_m16n8k8(c, a[0], b[j], type);
        else if constexpr(IsSame<T, int8>::value)
            mma_m16n8k32(c, a[0], b[j], type);
        else
            mma_m16n8k16(c, a[0], b[j], type);
        CKGEN_UNROLL
        for(int q = 0; q < 4; ++q)
            into[q] = c[q];
    }
}
template <int Columns, class Sums>
CKGEN_DEVICE void multiply_two_planes(const uint32 (&a)[1][4], const uint32 (&b)[Columns][2], const Sums& sums, float) {
    float products[Columns][4] = {};
    multiply_parts(products, a, b);
    CKGEN_UNROLL
    for(int j = 0; j < Columns; ++j) {
        auto into = sums(j);
        CKGEN_UNROLL
        for(int q = 0; q < 4; ++q)
            into[q] += products[j][q];
    }
}

template <int Size>
struct MmaSyncAtom {
    using Map = MmaSyncAccumulator<Size>;
    static constexpr bool reads_ahead = false;  // step() reads its operands from LDS one by one
    static constexpr int planes = 64 / Size;
    static constexpr int row_blocks = Size / 16;     // m16 per atom
    static constexpr int column_blocks = Size / 16;  // n8 per warp and atom: half of the atom's columns

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR, int Steps>
    static CKGEN_DEVICE void order(const platform::Thread&) {}

    // This lane, and the place of its wave's first atoms in a tile.
    template <class LayoutA, class LayoutB, int MR, int NR>
    struct Lane {
        int lane, a, b;
        CKGEN_DEVICE Lane(const platform::Thread&, int lane, int a_slot, int b_slot)
            : lane(lane), a(LayoutA::byte_of(0, a_slot)), b(LayoutB::byte_of(0, b_slot)) {}
    };

    template <class TA, class TB, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void step(const platform::Thread& thread, const Lane<LayoutA, LayoutB, MR, NR>& at, int a_tile,
                                  int b_tile, Accumulator<Size, TA, TB> (&acc)[MR][NR]) {
        const int lane = at.lane;
        const int a_base = at.a + a_tile;
        const int b_base = at.b + b_tile;
        const int warp = lane / 32;
        // ldmatrix.x4 takes row addresses from lanes 0-7, 8-15, 16-23, 24-31 for its four matrices.
        const int matrix = lane % 32 / 8;
        const int line = lane % 8;
        CKGEN_UNROLL
        for(int pair = 0; pair < planes; pair += 2) {  // an instruction takes two planes
            uint32 b[NR * column_blocks][2];
            CKGEN_UNROLL
            for(int j = 0; j < NR; ++j) {
                // Matrices: (n8 block, plane); for a single n8 block the second half repeats the first.
                const int block = column_blocks == 2 ? matrix / 2 : 0;
                const int slot = j * Size + warp * (Size / 2) + block * 8 + line;
                uint32 r[4];
                thread.load_matrices(b_base + LayoutB::byte_of(pair + matrix % 2, slot), r);
                CKGEN_UNROLL
                for(int n = 0; n < column_blocks; ++n)
                    b[j * column_blocks + n][0] = r[2 * n], b[j * column_blocks + n][1] = r[2 * n + 1];
            }
            CKGEN_UNROLL
            for(int i = 0; i < MR; ++i)
                CKGEN_UNROLL
            for(int m = 0; m < row_blocks; ++m) {
                uint32 a[1][4];  // (rows 0-7, plane 0), (rows 8-15, plane 0), then plane 1
                const int slot = i * Size + m * 16 + matrix % 2 * 8 + line;
                thread.load_matrices(a_base + LayoutA::byte_of(pair + matrix / 2, slot), a[0]);
                const auto sums = [&](int column) -> Block<Accumulator<Size, TA, TB>> {
                    return {acc[i][column / column_blocks], m, column % column_blocks};
                };
                multiply_two_planes(a, b, sums, TA{});
            }
        }
    }

private:
    // The four results of an m16n8 block, which are rows q / 2 * 8 apart and columns q % 2: see MmaSyncAccumulator.
    template <class Registers>
    struct Block {
        Registers& acc;
        int m, n;
        CKGEN_DEVICE auto& operator[](int q) const { return acc[Map::register_of(m, n, q)]; }
    };
};

}  // namespace ckgen::atom
