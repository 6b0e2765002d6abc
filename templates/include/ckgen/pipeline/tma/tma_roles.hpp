// The kernels of families wavelet_tma and stationary of both operations: a load role, mostly of one warp, fills a ring
// of stages by TMA, and a math role of warpgroups multiplies from it by wgmma (pipeline/tma/tma_consumers.hpp).
// Workgroups are persistent: each processes its units of a stream-K schedule in order. The ring continues from unit to
// unit, so that neither role waits for the other's prologue or epilogue. After a barrier of the grid all workgroups add
// the partials of the stream-K tiles (the fixup).
//
// A View describes an operation:
//   Args, Tile (m_first, k_tiles), Store  the kernel's argument, a unit's part of the work, the epilogue
//   schedule(), partials(), chunk()       of Args: the TileSchedule, the workspace, tiles of GEMM-K per f32 sum
//   unit(args, u), tile(args, number)     the Tile of a unit, and the Tile of an output tile
//   has_row(args, tile, row)              true if a row of the tile is one of the product
//   shares_tiles                          true if the schedule may have stream-K tiles
//   plans_ahead                           true if registers suffice to compute the next unit while products run
//   steps(args), multiply<Steps>()        number of products of 32 bytes of GEMM-K per stage, and all of them
//   Accumulator                           the rows and columns of a thread's results
//   a_in_registers                        true if threads load A from the stage
//   has_products, Products                true if Products multiplies the stages, instead of multiply(): WarpProducts,
//                                         PartProducts or ShiftedProducts
// and in family stationary, where consecutive units share B,
//   weight_tile_bytes(args)               bytes from one tile of B to the next
#pragma once

#include "ckgen/pipeline/tma/tma_consumers.hpp"

namespace ckgen::pipeline {

// True if f32 is multiplied without rounding it to tf32 (atom/tf32_parts.hpp).
template <class D>
inline constexpr bool tma_multiplies_f32 = IsSame<typename D::ComputeA, float>::value;
// Registers per thread: beside the accumulators about 40, in f32 72 with the parts of A, and the products of a stage.
template <class D>
inline constexpr int tma_registers = tma_multiplies_f32<D> ? 2 * D::acc_registers + 72 : D::acc_registers + 40;
// Workgroups per multiprocessor: two if their stages and registers fit, so that one stores while the other multiplies.
// A multiprocessor has 228 KiB of shared memory, of which the system reserves one KiB per workgroup, and 65536
// registers.
template <class D>
inline constexpr int tma_resident =
    2 * (D::lds_bytes + 1024) <= 228 * 1024 && 2 * D::launch_threads * tma_registers<D> <= 65536 ? 2 : 1;

// Arrivals of the load role at a stage's full barrier: one, of the thread that issues all copies and calls
// mbarrier_expect(), or more, if all four warps load.
template <class LoadRole>
inline constexpr int load_arrivals = 1;

// Both roles wait for the previous kernel when they have computed their first unit's part of the work.
// LoadRole: run(thread, args, ring), which one warp executes, or four, and prefetch_maps(args), the maps of the first
// loads.
template <class D, class View, class LoadRole>
struct TmaRoles {
    using Args = typename View::Args;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr int cluster = kCluster<D>;
    static constexpr int resident = tma_resident<D>;
    static constexpr bool pingpong = tma_consumers<D> > 1;
    // Math warpgroups with many accumulators, or of f32, need more registers than an even share.
    static constexpr bool moves_registers =
        D::warpgroups > 1 && (tma_multiplies_f32<D> || tma_registers<D> >= 65536 / launch_threads / 8 * 8);

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const TmaRing<D> ring = TmaRing<D>::first();
        const int id = thread.thread_id();
        if(id == 0) {
            init_barriers(ring);
            platform::fence_mbarrier_init();
        }
        if(id == 32)
            LoadRole::prefetch_maps(args);
        if constexpr(cluster > 1)
            platform::cluster_barrier();
        else
            thread.barrier();
        // The grid barrier is in each branch: after the join ptxas would limit both roles to the load role's registers.
        const bool meets = platform::kGridBarrier && needs_fixup(args);
        if(id < 128) {
            if constexpr(moves_registers)
                platform::setmaxnreg_dec<40>();
            if(load_arrivals<LoadRole> > 1 || thread.uniform(id / 32) == 0)
                LoadRole::run(thread, args, ring);
            platform::pdl_launch_dependents();  // not earlier: the next kernel would crowd on the idle multiprocessors
            meet(meets);
        } else {
            if constexpr(moves_registers)
                platform::setmaxnreg_inc<D::warpgroups == 2 ? 232 : 152>();
            const int warpgroup = thread.uniform(id / 128) - 1;
            if constexpr(pingpong)
                PingPongConsumer<D, View>(thread, args, ring, warpgroup, id % 128).run();
            else
                CooperativeConsumer<D, View>(thread, args, ring, warpgroup, id % 128).run();
            meet(meets);
            if(meets)
                fixup(args, thread);
        }
    }

    // True if partials must be added after all workgroups have stored theirs; see platform/kernel_traits.hpp.
    static CKGEN_HD bool needs_fixup(const Args& args) {
        return View::shares_tiles && View::schedule(args).stream_k_tiles > 0;
    }
    static CKGEN_DEVICE void fixup(const Args& args, const platform::Thread& thread) {
        if constexpr(View::shares_tiles)
            if(thread.thread_id() >= 128)
                epilogue::WgmmaFixup<D, View>::fixup(thread, args, thread.thread_id() - 128);
    }

private:
    // After the last product: the grid's barrier, or that of a cluster, whose workgroups signal in each other's shared
    // memory until then.
    static CKGEN_DEVICE void meet(bool all) {
        if(all)
            platform::grid_barrier();
        else if constexpr(cluster > 1)
            platform::cluster_barrier();
    }
    static CKGEN_DEVICE void init_barriers(const TmaRing<D>& ring) {
        ring.init(load_arrivals<LoadRole>, D::warpgroups / tma_consumers<D> * tma_releases<View> * cluster);
        if constexpr(pingpong)
            for(int consumer = 0; consumer < tma_consumers<D>; ++consumer)
                platform::mbarrier_init(ring.order(consumer), 1);
        if constexpr(D::weight_rows > 0) {
            for(int tile = 0; tile < D::weight_rows / 16; ++tile)
                platform::mbarrier_init(ring.weight_full(tile), 1);
            platform::mbarrier_init(ring.weight_empty(), D::warpgroups);
        }
    }
};

}  // namespace ckgen::pipeline
