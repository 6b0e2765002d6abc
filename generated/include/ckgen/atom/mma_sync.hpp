// Copied by ckgen from templates/include/ckgen/atom/mma_sync.hpp. Do not edit; run: ckgen generate
// NVIDIA's mma.sync atoms. A logical wave of 64 lanes is two warps; each takes half of an atom's columns and issues
// m16n8 with 32 bytes of GEMM-K. PTX ISA 9.0, 9.7.14.5.8 (fragments of mma.m16n8k16; those of m16n8k8 for tf32 and of
// m16n8k32 for int8 hold the same bytes) and 9.7.14.5.15 (ldmatrix): a row of an 8x8 matrix is 16 bytes of GEMM-K for
// one row of A or column of B, which is exactly one slot of LdsLayout.
#pragma once

#include "ckgen/atom/lane_map.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

// True for types that mma.sync multiplies at full precision; kernels multiply others with the portable atom.
template <class TA, class TB>
inline constexpr bool kMatrixOperands =
    IsSame<TA, TB>::value &&
    (IsSame<TA, half_t>::value || IsSame<TA, bhalf_t>::value || IsSame<TA, tf32_t>::value || IsSame<TA, int8>::value);

// `b`: two registers.
CKGEN_DEVICE void mma_m16n8k16(float (&c)[4], const uint32 (&a)[4], const uint32* b, half_t) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
CKGEN_DEVICE void mma_m16n8k16(float (&c)[4], const uint32 (&a)[4], const uint32* b, bhalf_t) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
CKGEN_DEVICE void mma_m16n8k8(float (&c)[4], const uint32* a, const uint32* b, tf32_t) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
// 32 bytes of GEMM-K, for every type of kMatrixOperands.
template <class T>
CKGEN_DEVICE void mma_two_planes(float (&c)[4], const uint32 (&a)[4], const uint32* b, T type) {
    mma_m16n8k16(c, a, b, type);
}
CKGEN_DEVICE void mma_two_planes(float (&c)[4], const uint32 (&a)[4], const uint32* b, tf32_t type) {
    mma_m16n8k8(c, a, b, type);
}
CKGEN_DEVICE void mma_two_planes(int32 (&c)[4], const uint32 (&a)[4], const uint32* b, int8) {
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Half of GEMM-K: two registers of `a`, one of `b`.
CKGEN_DEVICE void mma_m16n8k8(float (&c)[4], const uint32* a, const uint32* b, half_t) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
CKGEN_DEVICE void mma_m16n8k8(float (&c)[4], const uint32* a, const uint32* b, bhalf_t) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
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
            uint32 b[NR][column_blocks][2];
            CKGEN_UNROLL
            for(int j = 0; j < NR; ++j) {
                // Matrices: (n8 block, plane); for a single n8 block the second half repeats the first.
                const int block = column_blocks == 2 ? matrix / 2 : 0;
                const int slot = j * Size + warp * (Size / 2) + block * 8 + line;
                uint32 r[4];
                thread.load_matrices(b_base + LayoutB::byte_of(pair + matrix % 2, slot), r);
                CKGEN_UNROLL
                for(int n = 0; n < column_blocks; ++n)
                    b[j][n][0] = r[2 * n], b[j][n][1] = r[2 * n + 1];
            }
            CKGEN_UNROLL
            for(int i = 0; i < MR; ++i)
                CKGEN_UNROLL
            for(int m = 0; m < row_blocks; ++m) {
                uint32 a[4];  // (rows 0-7, plane 0), (rows 8-15, plane 0), then plane 1
                const int slot = i * Size + m * 16 + matrix % 2 * 8 + line;
                thread.load_matrices(a_base + LayoutA::byte_of(pair + matrix / 2, slot), a);
                CKGEN_UNROLL
                for(int j = 0; j < NR; ++j)
                    CKGEN_UNROLL
                for(int n = 0; n < column_blocks; ++n)
                    multiply_block<TA, TB>(acc[i][j], m, n, a, b[j][n]);
            }
        }
    }

private:
    // The four results of an m16n8 block are rows q / 2 * 8 apart and columns q % 2: see MmaSyncAccumulator.
    template <class TA, class TB>
    static CKGEN_DEVICE void multiply_block(Accumulator<Size, TA, TB>& acc, int m, int n, const uint32 (&a)[4],
                                            const uint32 (&b)[2]) {
        Sum<TA, TB> c[4];
        CKGEN_UNROLL
        for(int q = 0; q < 4; ++q)
            c[q] = acc[Map::register_of(m, n, q)];
        mma_two_planes(c, a, b, TA{});
        CKGEN_UNROLL
        for(int q = 0; q < 4; ++q)
            acc[Map::register_of(m, n, q)] = c[q];
    }
};

}  // namespace ckgen::atom
