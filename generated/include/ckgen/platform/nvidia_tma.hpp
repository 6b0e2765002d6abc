// Copied by ckgen from templates/include/ckgen/platform/nvidia_tma.hpp. Do not edit; run: ckgen generate
// Hopper's asynchronous instructions: mbarriers, TMA loads, setmaxnreg. PTX ISA 9.0, 9.7.13.15 (mbarrier) and 9.7.9.27
// (cp.async.bulk.tensor). Addresses are shared-memory byte addresses.
#pragma once

#include <cooperative_groups.h>
#include <cuda.h>

#include "ckgen/platform/nvidia.hpp"

namespace ckgen::platform {

using TensorMap = CUtensorMap;

// `arrivals`: number of threads that must arrive to complete a phase.
CKGEN_DEVICE void mbarrier_init(uint32 barrier, int arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
// Makes initialised barriers visible to TMA; a workgroup barrier follows.
CKGEN_DEVICE void fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
// Arrives, and adds the number of bytes of copies that the phase also waits for.
CKGEN_DEVICE void mbarrier_expect(uint32 barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
CKGEN_DEVICE void mbarrier_arrive(uint32 barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// Arrives at the barrier that the workgroup with this rank in the cluster has at the same address. PTX ISA 9.0,
// 9.7.8.26 (mapa). Without `.release.cluster`, which would be a fence of the whole device's memory: the arrival says
// that shared memory is no longer read.
CKGEN_DEVICE void mbarrier_arrive_at(uint32 barrier, int rank) {
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}
// This workgroup's number in its cluster.
CKGEN_DEVICE int cluster_rank() {
    int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// A barrier of all threads of a cluster. PTX ISA 9.0, 9.7.13.4 (barrier.cluster).
CKGEN_DEVICE void cluster_barrier() { asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory"); }
// Waits for the phase of the given parity to complete.
CKGEN_DEVICE void mbarrier_wait(uint32 barrier, int parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n@!done bra "
                 "AGAIN;\n}" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// A box of a two-dimensional tensor: x along the contiguous dimension.
CKGEN_DEVICE void tma_load_2d(uint32 target, const TensorMap& map, uint32 barrier, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            target),
        "l"(&map), "r"(barrier), "r"(x), "r"(y)
        : "memory");
}

// A box of a channels-last image tensor: channels, columns, rows and images from there.
CKGEN_DEVICE void tma_load_nd(uint32 target, const TensorMap& map, uint32 barrier, int channel, int column, int row,
                              int image) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
                 "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(target),
                 "l"(&map), "r"(barrier), "r"(channel), "r"(column), "r"(row), "r"(image)
                 : "memory");
}

// Pixels of an image in im2col order. position[0] is the innermost spatial coordinate of the first pixel under tap 0,
// tap[0] that dimension's tap offset. Ranks: number of workgroups of the cluster to whose shared memory they are
// copied, at the same addresses as here, where their barriers count them; 0 is this workgroup alone.
template <int NDim, int Ranks = 0>
CKGEN_DEVICE void tma_load_im2col(uint32 target, const TensorMap& map, uint32 barrier, int channel,
                                  const int (&position)[NDim], int image, const uint16 (&tap)[NDim]) {
    constexpr uint16 ranks = (1 << Ranks) - 1;
#define CKGEN_IM2COL(DIMENSIONS, POSITION, TAP, ...)                                                                   \
    if constexpr(Ranks == 0)                                                                                           \
        asm volatile("cp.async.bulk.tensor." DIMENSIONS                                                                \
                     ".im2col.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " POSITION                \
                     "], [%2], " TAP ";" ::"r"(target),                                                                \
                     "l"(&map), "r"(barrier), "h"(ranks), "r"(channel), "r"(image), __VA_ARGS__                        \
                     : "memory");                                                                                      \
    else                                                                                                               \
        asm volatile("cp.async.bulk.tensor." DIMENSIONS                                                                \
                     ".im2col.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "           \
                     "[%1, " POSITION "], [%2], " TAP ", %3;" ::"r"(target),                                           \
                     "l"(&map), "r"(barrier), "h"(ranks), "r"(channel), "r"(image), __VA_ARGS__                        \
                     : "memory")
    if constexpr(NDim == 1) {
        CKGEN_IM2COL("3d", "{%4, %6, %5}", "{%7}", "r"(position[0]), "h"(tap[0]));
    } else if constexpr(NDim == 2) {
        CKGEN_IM2COL("4d", "{%4, %6, %7, %5}", "{%8, %9}", "r"(position[0]), "r"(position[1]), "h"(tap[0]),
                     "h"(tap[1]));
    } else {
        CKGEN_IM2COL("5d", "{%4, %6, %7, %8, %5}", "{%9, %10, %11}", "r"(position[0]), "r"(position[1]),
                     "r"(position[2]), "h"(tap[0]), "h"(tap[1]), "h"(tap[2]));
    }
#undef CKGEN_IM2COL
}

// Loads a run of bytes. Their number and both addresses are multiples of 16. PTX ISA 9.0, 9.7.9.25.4 (cp.async.bulk).
CKGEN_DEVICE void bulk_load(uint32 target, const void* source, int bytes, uint32 barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(target),
        "l"(source), "r"(bytes), "r"(barrier)
        : "memory");
}
// Copies the first `bytes` of 16 bytes; the others become zero. The copy is complete when a later async_arrive()
// of this thread at the barrier is. PTX ISA 9.0, 9.7.9.25.3 (cp.async).
CKGEN_DEVICE void async_copy_slot(uint32 target, const void* source, int bytes, uint32) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source), "r"(bytes) : "memory");
}
// The same for all 16 bytes, which become zero if not `copies`.
CKGEN_DEVICE void async_copy_or_clear(uint32 target, const void* source, bool copies, uint32) {
    asm volatile("{\n.reg .pred clears;\nsetp.eq.u32 clears, %2, 0;\n"
                 "cp.async.cg.shared.global [%0], [%1], 16, clears;\n}" ::"r"(target),
                 "l"(source), "r"(static_cast<int>(copies))
                 : "memory");
}
// Arrives when all earlier copies by async_copy_slot() and async_copy_or_clear() of this thread are complete. PTX
// ISA 9.0, 9.7.13.15.17 (cp.async.mbarrier.arrive).
CKGEN_DEVICE void async_arrive(uint32 barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
// Copies a word, or sets it to zero if not `copies`. PTX ISA 9.0, 9.7.9.25.3 (cp.async).
CKGEN_DEVICE void async_copy_word(uint32 target, const void* source, bool copies) {
    asm volatile("{\n.reg .pred clears;\nsetp.eq.u32 clears, %2, 0;\n"
                 "cp.async.ca.shared.global [%0], [%1], 4, clears;\n}" ::"r"(target),
                 "l"(source), "r"(static_cast<int>(copies))
                 : "memory");
}
// Copies the first `bytes` of 16 bytes, whose addresses are multiples of 16; the others become zero.
CKGEN_DEVICE void async_copy_part(uint32 target, const void* source, int bytes) {
    async_copy_slot(target, source, bytes, 0);
}
// Ends a group of the thread's copies by async_copy_word() and async_copy_part(). PTX ISA 9.0, 9.7.9.25.3.2
// (cp.async.commit_group).
CKGEN_DEVICE void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until all but the thread's last `Left` groups are complete. PTX ISA 9.0, 9.7.9.25.3.3 (cp.async.wait_group).
template <int Left>
CKGEN_DEVICE void async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Left) : "memory");
}
// Prefetches a tensor map, which is a parameter of the kernel. PTX ISA 9.0, 9.7.9.16 (prefetch).
CKGEN_DEVICE void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// Prefetches the 32 bytes around an address to the second-level cache.
CKGEN_DEVICE void prefetch_sector(const void* address) { asm volatile("prefetch.global.L2 [%0];" ::"l"(address)); }
CKGEN_DEVICE Vec<uint32, 2> lds_load_8_bytes(uint32 address) {
    Vec<uint32, 2> value;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value[0]), "=r"(value[1]) : "r"(address) : "memory");
    return value;
}
CKGEN_DEVICE void lds_store_8_bytes(uint32 address, const Vec<uint32, 2>& value) {
    asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(address), "r"(value[0]), "r"(value[1]) : "memory");
}
CKGEN_DEVICE void lds_store_16_bytes(uint32 address, const Vec<uint32, 2>& low, const Vec<uint32, 2>& high) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(low[0]), "r"(low[1]), "r"(high[0]),
                 "r"(high[1])
                 : "memory");
}

// Orders stores of threads to shared memory before later TMA writes there; a barrier follows.
CKGEN_DEVICE void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Start of the workgroup's dynamic shared memory, which is Thread's LDS.
CKGEN_DEVICE uint32 lds_start() { return static_cast<uint32>(__cvta_generic_to_shared(dynamic_lds)); }
CKGEN_DEVICE void sync_warp() { __syncwarp(); }
// True in one lane of a warp; all lanes must call it. PTX ISA 9.0, 9.7.13.14 (elect.sync).
CKGEN_DEVICE bool elect_lane(const Thread&) {
    uint32 elected;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(elected));
    return elected != 0;
}
// A barrier of all threads of a grid: earlier stores of each thread are visible after it. Needs a cooperative launch.
inline constexpr bool kGridBarrier = true;
CKGEN_DEVICE void grid_barrier() { cooperative_groups::this_grid().sync(); }
// A barrier of `threads` threads, a multiple of 32; number 0 is the workgroup's.
CKGEN_DEVICE void barrier_of(int number, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// ldmatrix.x4.trans loads four 8x8 matrices of 16-bit elements. Lane i gives the address of row i % 8 of matrix i / 8.
// Register j of lane i then holds column i / 4 of rows i % 4 * 2 and i % 4 * 2 + 1 of matrix j. PTX ISA 9.0,
// 9.7.14.5.15.
CKGEN_DEVICE void load_matrices_transposed(uint32 address, uint32 (&r)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// ldmatrix.x4 without transposition: register j of lane i holds columns i % 4 * 2 and i % 4 * 2 + 1 of row i / 4 of
// matrix j.
CKGEN_DEVICE void load_matrices(uint32 address, uint32 (&r)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

// stmatrix.x4 stores four 8x8 matrices of 16-bit elements. Lane i gives the address of row i % 8 of matrix i / 8, 16
// bytes in the workgroup's LDS. Register j of lane i holds columns i % 4 * 2 and i % 4 * 2 + 1 of row i / 4 of matrix
// j; if Transposed, rows i % 4 * 2 and i % 4 * 2 + 1 of column i / 4. PTX ISA 9.0, 9.7.14.5.16.
template <bool Transposed = false>
CKGEN_DEVICE void store_matrices(const Thread&, int byte_offset, const uint32 (&r)[4]) {
    const uint32 address = lds_start() + static_cast<uint32>(byte_offset);
    if constexpr(Transposed)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]),
                     "r"(r[1]), "r"(r[2]), "r"(r[3])
                     : "memory");
    else
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(r[0]),
                     "r"(r[1]), "r"(r[2]), "r"(r[3])
                     : "memory");
}

// setmaxnreg moves registers between roles. Every thread of a warpgroup executes it, and the kernel must be compiled to
// use all registers of a multiprocessor.
template <int Count>
CKGEN_DEVICE void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
CKGEN_DEVICE void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}

}  // namespace ckgen::platform
