// Copied by ckgen from templates/include/ckgen/atom/mma_instructions.hpp. Do not edit; run: ckgen generate
// NVIDIA's mma.sync instructions: 16x8 results of a warp. PTX ISA 9.0, 9.7.14.5 (fragments in 9.7.14.5.7
// and 9.7.14.5.8).
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::atom {

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
CKGEN_DEVICE void mma_m16n8k32(int32 (&c)[4], const uint32* a, const uint32* b, int8) {
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

}  // namespace ckgen::atom
