// wgmma: one warpgroup multiplies 64 rows of A with N columns of B from shared memory, 32 bytes of GEMM-K at a time: 16
// positions of f16 and bf16, 8 of tf32. 16-bit operands have the order of the tensors, without a transposition: each is
// MN-major or K-major (the last two immediates). Operands of tf32 are K-major.
// PTX ISA 9.0, 9.7.15: wgmma.mma_async, matrix descriptors (9.7.15.5.1), 128-byte swizzle, accumulator layout.
#pragma once

#include "ckgen/atom/wgmma_operands.hpp"
#include "ckgen/compute_types.hpp"

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/atom/wgmma_host.hpp"
#else
namespace ckgen::atom {

CKGEN_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
CKGEN_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most Pending groups are unfinished.
template <int Pending>
CKGEN_DEVICE void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
// Keeps reads of results after this, and this after the preceding wait: the compiler does not see that the wait
// concerns them.
template <int N>
CKGEN_DEVICE void wgmma_done(float (&d)[N]) {
    CKGEN_UNROLL
    for(int i = 0; i < N; ++i)
        asm volatile("" : "+f"(d[i])::"memory");
}

// clang-format off: operand lists
#define CKGEN_WGMMA_24(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %12, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n24" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11" \
        "}, " OPERAND_A ", %13, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_64(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %32, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n64" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31" \
        "}, " OPERAND_A ", %33, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_96(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %48, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n96" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
        "}, " OPERAND_A ", %49, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_128(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %64, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n128" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63" \
        "}, " OPERAND_A ", %65, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_160(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %80, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n160" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79" \
        "}, " OPERAND_A ", %81, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_192(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %96, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n192" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95" \
        "}, " OPERAND_A ", %97, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
#define CKGEN_WGMMA_256(SHAPE, OPERAND_A, ORDER, ...) \
    asm volatile( \
        "{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %128, 0;\n" \
        "wgmma.mma_async.sync.aligned.m64n256" SHAPE " {" \
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127" \
        "}, " OPERAND_A ", %129, accumulate, 1, 1" ORDER ";\n}" \
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), \
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), \
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]), \
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), \
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), \
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]), \
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127]) \
        : "r"(accumulate), "l"(b), __VA_ARGS__)
// The instruction for the element type. Operand A, and ORDER, the orders of A and B, which tf32 does not have: numbers of
// assembly operands.
#define CKGEN_WGMMA(N, OPERAND_A, ORDER) \
    if constexpr(IsSame<T, tf32_t>::value) { \
        CKGEN_WGMMA_##N("k8.f32.tf32.tf32", OPERAND_A, "", "l"(a)); \
    } else if constexpr(IsSame<T, half_t>::value) { \
        CKGEN_WGMMA_##N("k16.f32.f16.f16", OPERAND_A, ORDER, CKGEN_WGMMA_ORDERED_A); \
    } else { \
        CKGEN_WGMMA_##N("k16.f32.bf16.bf16", OPERAND_A, ORDER, CKGEN_WGMMA_ORDERED_A); \
    }
#define CKGEN_WGMMA_ORDERED_A "l"(a), "n"(A == Major::mn ? 1 : 0), "n"(B == Major::mn ? 1 : 0)
#define CKGEN_WGMMA_OF_REGISTERS(N, OPERAND_A) \
    CKGEN_WGMMA_##N("k8.f32.tf32.tf32", OPERAND_A, "", "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]))
// clang-format on

// d += A * B for m64, N columns and 32 bytes of GEMM-K. a, b: descriptors. T: half_t or bhalf_t in any orders, or
// tf32_t with both operands in K order.
template <class T, int N, Major A = Major::mn, Major B = Major::mn>
CKGEN_DEVICE void wgmma(float (&d)[N / 2], uint64 a, uint64 b, int accumulate = 1) {
    static_assert(N == 24 || N == 64 || N == 96 || N == 128 || N == 160 || N == 192 || N == 256,
                  "the column counts that instances use");
    static_assert(!IsSame<T, tf32_t>::value || (A == Major::k && B == Major::k), "wgmma takes tf32 K-major only");
    if constexpr(N == 24) {
        CKGEN_WGMMA(24, "%14", ", %15, %16")
    } else if constexpr(N == 64) {
        CKGEN_WGMMA(64, "%34", ", %35, %36")
    } else if constexpr(N == 96) {
        CKGEN_WGMMA(96, "%50", ", %51, %52")
    } else if constexpr(N == 128) {
        CKGEN_WGMMA(128, "%66", ", %67, %68")
    } else if constexpr(N == 160) {
        CKGEN_WGMMA(160, "%82", ", %83, %84")
    } else if constexpr(N == 192) {
        CKGEN_WGMMA(192, "%98", ", %99, %100")
    } else {
        CKGEN_WGMMA(256, "%130", ", %131, %132")
    }
}

// The same for tf32 with A in registers (WgmmaFragment) and B in K order. wgmma_fence() stands between the last change
// of a register of A and this; a register may change again after the wait for this.
template <int N>
CKGEN_DEVICE void wgmma_of_registers(float (&d)[N / 2], const uint32 (&a)[4], uint64 b, int accumulate = 1) {
    static_assert(N == 64 || N == 128 || N == 192 || N == 256, "the column counts that instances use");
    if constexpr(N == 64) {
        CKGEN_WGMMA_OF_REGISTERS(64, "{%34, %35, %36, %37}");
    } else if constexpr(N == 128) {
        CKGEN_WGMMA_OF_REGISTERS(128, "{%66, %67, %68, %69}");
    } else if constexpr(N == 192) {
        CKGEN_WGMMA_OF_REGISTERS(192, "{%98, %99, %100, %101}");
    } else {
        CKGEN_WGMMA_OF_REGISTERS(256, "{%130, %131, %132, %133}");
    }
}
#undef CKGEN_WGMMA
#undef CKGEN_WGMMA_ORDERED_A
#undef CKGEN_WGMMA_OF_REGISTERS
#undef CKGEN_WGMMA_24
#undef CKGEN_WGMMA_64
#undef CKGEN_WGMMA_96
#undef CKGEN_WGMMA_128
#undef CKGEN_WGMMA_160
#undef CKGEN_WGMMA_192
#undef CKGEN_WGMMA_256

}  // namespace ckgen::atom
#endif
