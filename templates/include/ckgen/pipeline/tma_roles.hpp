// What the kernels of family wavelet_tma have in common, whatever the operation: a ring of stages that the load role
// fills by bulk tensor copies, the math role, warpgroups on wgmma that read both operands where the copies put them,
// and the way of a persistent workgroup through its units of the schedule. Full and empty mbarriers guard each stage,
// so that neither role ever waits for the other's code, and the ring runs on from one unit to the next. Partials are
// added up by all workgroups together once all have been written.
//
// A View says what an operation is to them:
//   Args, Tile (m_first, k_tiles), Store  the kernel's argument, a unit's part of the work, where results go
//   schedule(), partials(), chunk()       of Args: the TileSchedule, the workspace, tiles of GEMM-K of one sum
//   unit(args, u), tile(args, number)     the Tile of a unit, and that of a tile of the result
//   rows(args, tile)                      rows of the product
//   steps(args), multiply<Steps>()        products of 16 positions of GEMM-K in a stage: how many, and all of them
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/wgmma_partials.hpp"
#include "ckgen/platform/copy_engine.hpp"

namespace ckgen::pipeline {

// Where a stage and its barriers lie in shared memory.
template <class D>
struct TmaRing {
    uint32 base;
    int stage = 0;
    int parity = 0;

    CKGEN_DEVICE uint32 data() const { return base + static_cast<uint32>(stage * D::lds_stage_bytes); }
    CKGEN_DEVICE uint32 full() const { return base + D::stages * D::lds_stage_bytes + static_cast<uint32>(stage) * 16; }
    CKGEN_DEVICE uint32 empty() const { return full() + 8; }
    CKGEN_DEVICE void next() {
        if(++stage == D::stages) {
            stage = 0;
            parity ^= 1;
        }
    }
};

template <class D, class View>
struct TmaMathRole {
    using Args = typename View::Args;
    using Partials = epilogue::WgmmaPartials<D, View>;
    using Registers = typename Partials::Registers;
    static constexpr int block_bytes = 64 * 128;  // 64 rows of a stage, 128 bytes each
    static constexpr int a_blocks = D::m_per_block / 64;

    // `warpgroup` has rows 64 * warpgroup of the tile, `id` counts its threads.
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring, int warpgroup,
                                 int id) {
        const conv::TileSchedule& schedule = View::schedule(args);
        const int block = static_cast<int>(thread.block_id());
        for(int u = block; u < schedule.units(); u += static_cast<int>(thread.grid_size())) {
            const auto tile = View::unit(args, u);
            const bool direct = u < schedule.direct;
            float* const slot = Partials::slot(args, direct ? schedule.tail_units() + block : u - schedule.direct,
                                               warpgroup * 128 + id);
            const bool keeps = Partials::has_rows(args, tile, warpgroup * 128 + id);
            Registers acc;
            int k = 0;
            do {
                const int left = tile.k_tiles - k;
                const int end = k + (left < View::chunk(args) ? left : View::chunk(args));
                sum(args, ring, warpgroup, id, end - k, acc);
                if(k > 0 && keeps)
                    Partials::add_to(thread, slot, acc);
                k = end;
                if(keeps && (!direct || k < tile.k_tiles))
                    Partials::keep(thread, slot, acc);
            } while(k < tile.k_tiles);
            if(direct)
                write(thread, args, tile, warpgroup * 128 + id, acc);
        }
    }

private:
    // acc = the products of the next k_tiles stages. A loop for each number of steps: a branch among a stage's products
    // would make them wait for each other.
    static CKGEN_DEVICE void sum(const Args& args, TmaRing<D>& ring, int warpgroup, int id, int k_tiles,
                                 Registers& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < D::n_per_block / 2; ++i)
            acc[i] = 0.f;
        const int steps = View::steps(args);
        if(steps == 4)
            add_stages<4>(ring, warpgroup, id, k_tiles, acc);
        else if(steps == 3)
            add_stages<3>(ring, warpgroup, id, k_tiles, acc);
        else if(steps == 2)
            add_stages<2>(ring, warpgroup, id, k_tiles, acc);
        else
            add_stages<1>(ring, warpgroup, id, k_tiles, acc);
    }
    template <int Steps>
    static CKGEN_DEVICE void add_stages(TmaRing<D>& ring, int warpgroup, int id, int k_tiles, Registers& acc) {
        uint32 previous = 0;  // the empty barrier of the stage whose products may still run
        for(int k = 0; k < k_tiles; ++k, ring.next()) {
            platform::mbarrier_wait(ring.full(), ring.parity);
            atom::wgmma_fence();
            View::template multiply<Steps>(ring.data() + warpgroup * block_bytes, ring.data() + a_blocks * block_bytes,
                                           acc);
            atom::wgmma_commit();
            atom::wgmma_wait<1>();
            if(previous != 0 && id == 0)
                platform::mbarrier_arrive(previous);
            previous = ring.empty();
        }
        atom::wgmma_wait<0>();
        atom::wgmma_done(acc);
        if(previous != 0 && id == 0)
            platform::mbarrier_arrive(previous);
    }

    static CKGEN_DEVICE void write(const platform::Thread& thread, const Args& args, const typename View::Tile& tile,
                                   int id, const Registers& acc) {
        const typename View::Store store(thread, args, tile, id);
        CKGEN_UNROLL
        for(int quad = 0; quad < D::n_per_block / 32; ++quad)
            store.put_quad(quad, &acc[16 * quad]);
    }
};

// LoadRole: run(thread, args, ring), by one warp.
template <class D, class View, class LoadRole>
struct TmaRoles {
    using Args = typename View::Args;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    // Two math warpgroups with 128 accumulators each need more registers than an even share.
    static constexpr bool moves_registers = D::warpgroups == 2 && D::n_per_block == 256;

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const uint32 start = platform::lds_start();
        const TmaRing<D> ring{(start + 1023u) & ~1023u};
        const int id = thread.thread_id();
        if(id == 0) {
            for(TmaRing<D> each = ring; each.parity == 0; each.next()) {
                platform::mbarrier_init(each.full(), 1);
                platform::mbarrier_init(each.empty(), D::warpgroups);
            }
            platform::mbarrier_publish();
        }
        thread.barrier();
        // The barrier of the grid is in each branch: behind both, the load role's few registers would be all there are.
        const bool meets = platform::kGridBarrier && has_second_half(args);
        if(id < 128) {
            if constexpr(moves_registers)
                platform::give_registers<40>();
            if(thread.uniform(id / 32) == 0)
                LoadRole::run(thread, args, ring);
            if(meets)
                platform::grid_barrier();
        } else {
            if constexpr(moves_registers)
                platform::take_registers<232>();
            TmaMathRole<D, View>::run(thread, args, ring, id / 128 - 1, id % 128);
            if(meets) {
                platform::grid_barrier();
                second_half(args, thread);
            }
        }
    }

    // What all workgroups do when all have done the rest; see platform/kernel_traits.hpp.
    static CKGEN_HD bool has_second_half(const Args& args) { return View::schedule(args).tail > 0; }
    static CKGEN_DEVICE void second_half(const Args& args, const platform::Thread& thread) {
        if(thread.thread_id() >= 128)
            epilogue::WgmmaPartials<D, View>::finish(thread, args, thread.thread_id() - 128);
    }
};

}  // namespace ckgen::pipeline
