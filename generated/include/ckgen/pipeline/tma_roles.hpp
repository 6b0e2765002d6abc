// Copied by ckgen from templates/include/ckgen/pipeline/tma_roles.hpp. Do not edit; run: ckgen generate
// What the kernels of family wavelet_tma have in common, whatever the operation: a ring of stages that the load role
// fills by TMA loads, the math role, warpgroups on wgmma that read both operands where the copies put them,
// and the way of a persistent workgroup through its units of the schedule. Full and empty mbarriers guard each stage,
// so that neither role ever waits for the other's code, and the ring runs on from one unit to the next. Partials are
// added up by all workgroups together once all have been written.
//
// A View says what an operation is to them:
//   Args, Tile (m_first, k_tiles), Store  the kernel's argument, a unit's part of the work, where results go
//   schedule(), partials(), chunk()       of Args: the TileSchedule, the workspace, tiles of GEMM-K of one sum
//   unit(args, u), tile(args, number)     the Tile of a unit, and that of a tile of the result
//   rows(args, tile)                      rows of the product
//   plans_ahead                           the next unit is worked out beside the last products: there are registers
//   steps(args), multiply<Steps>()        products of 16 positions of GEMM-K in a stage: how many, and all of them
// and in family stationary, where B stays while neighbouring units have the same,
//   weight_tile_bytes(args)               from a tile of B to the next
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/wgmma_fixup.hpp"
#include "ckgen/pipeline/tma_ring.hpp"

namespace ckgen::pipeline {

// Two workgroups share a multiprocessor where their stages fit: one stores while the other multiplies. Its shared
// memory is 228 KiB, of which the system takes one for each.
template <class D>
inline constexpr int tma_resident = 2 * (D::lds_bytes + 1024) <= 228 * 1024 ? 2 : 1;

// How many units math warpgroups have under way, of 64 or m_per_xdl rows for each.
template <class D>
inline constexpr int tma_consumers = D::warpgroups * D::m_per_xdl / D::m_per_block;

// Warpgroups either share a unit, 64 rows each, or are teams of one that take units by turns, all their rows each, so
// that one stores its results while another multiplies. A team begins to multiply when the one before it has begun its
// last products: parities tell a stage's phase from the one before, and from none further ahead.
template <class D, class View>
struct TmaMathRole {
    using Args = typename View::Args;
    using Partials = epilogue::WgmmaFixup<D, View>;
    using Registers = typename Partials::Registers;
    static constexpr int block_bytes = 64 * 128;  // 64 rows of a stage, 128 bytes each
    static constexpr int a_blocks = D::m_per_block / 64;
    static constexpr int teams = tma_consumers<D>;
    static constexpr int own_blocks = a_blocks * teams / D::warpgroups;  // of A, that a warpgroup multiplies

    // `id` counts the threads of a warpgroup.
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring, int warpgroup,
                                 int id) {
        const conv::TileSchedule& schedule = View::schedule(args);
        const int team = warpgroup % teams;
        const int first_block = warpgroup / teams;
        const int workgroup = static_cast<int>(thread.block_id());
        int turn = 0;
        int parity = team == 0 ? 1 : 0;  // of the team's turn
        const conv::UnitRun run = tma_units<D>(thread, schedule);
        typename View::Tile next = View::unit(args, run.first < run.end ? run.first : 0);
        TmaWeight weight;
        for(int u = run.first; u < run.end; u += run.step) {
            const typename View::Tile tile = next;
            const bool mine = turn == team;
            turn = turn + 1 == teams ? 0 : turn + 1;
            if constexpr(D::weight_rows > 0)
                if(weight.changes(tile) && weight.changed > 1 && id == 0)
                    platform::mbarrier_arrive(ring.weight_empty());
            if(!mine) {
                ring.skip(tile.k_tiles);
                next = View::unit(args, u + run.step < run.end ? u + run.step : u);
                continue;
            }
            const bool direct = u < schedule.data_parallel_tiles;
            float* const slot = Partials::slot(
                args, direct ? schedule.stream_k_units() + workgroup * teams + team : u - schedule.data_parallel_tiles,
                0);
            if(direct) {
                CKGEN_UNROLL
                for(int b = 0; b < own_blocks; ++b)
                    View::Store::prefetch(args, tile, (first_block + b) * 128 + id);
            }
            Registers acc[own_blocks];
            if constexpr(teams > 1) {
                platform::mbarrier_wait(ring.turn(team), parity);
                parity ^= 1;
            }
            int k = 0;
            uint32 last;
            while(true) {
                const int left = tile.k_tiles - k;
                const bool more = left > View::chunk(args);
                last = issue(args, ring, weight_tile(args, weight, k), first_block, id, more ? View::chunk(args) : left,
                             acc);
                if constexpr(teams > 1) {
                    if(!more)
                        break;
                    settle(last, id, acc);
                }
                add_piece(thread, args, tile, slot, first_block, id, k > 0, more || !direct, acc);
                if(!more)
                    break;
                k += View::chunk(args);
            }
            if constexpr(teams > 1) {
                platform::barrier_of(1 + warpgroup, 128);  // all have seen their turn, also of a unit without products
                if(id == 0)
                    platform::mbarrier_arrive(ring.turn(team + 1 == teams ? 0 : team + 1));
            }
            if constexpr(View::plans_ahead)
                next = View::unit(args, u + run.step < run.end ? u + run.step : u);
            if(direct) {
                write<0>(thread, args, tile, slot, first_block, id, last, k > 0, acc);
            } else if constexpr(teams > 1) {
                settle(last, id, acc);
                add_piece(thread, args, tile, slot, first_block, id, k > 0, true, acc);
            }
            if constexpr(!View::plans_ahead)
                next = View::unit(args, u + run.step < run.end ? u + run.step : u);
        }
    }

private:
    static CKGEN_DEVICE TmaWeightTile weight_tile(const Args& args, const TmaWeight& weight, int k) {
        if constexpr(D::weight_rows > 0) {
            const uint32 bytes = View::weight_tile_bytes(args);
            return {k, weight.parities >> k, TmaRing<D>::weight() + static_cast<uint32>(k) * bytes, bytes};
        } else {
            return {};
        }
    }
    // acc = the products of the next k_tiles stages. Of a team they only begin: what does not need them is worked out
    // beside the last. Gives what settle() wants. A loop for each number of steps: a branch among a stage's products
    // would make them wait for each other.
    static CKGEN_DEVICE uint32 issue(const Args& args, TmaRing<D>& ring, TmaWeightTile weight, int first_block, int id,
                                     int k_tiles, Registers (&acc)[own_blocks]) {
        if constexpr(teams == 1)
            clear(acc);
        const int steps = View::steps(args);
        if(steps == 4)
            return issue_stages<4>(ring, weight, first_block, id, k_tiles, acc);
        if(steps == 3)
            return issue_stages<3>(ring, weight, first_block, id, k_tiles, acc);
        if(steps == 2)
            return issue_stages<2>(ring, weight, first_block, id, k_tiles, acc);
        return issue_stages<1>(ring, weight, first_block, id, k_tiles, acc);
    }
    template <int Steps>
    static CKGEN_DEVICE uint32 issue_stages(TmaRing<D>& ring, TmaWeightTile weight, int first_block, int id,
                                            int k_tiles, Registers (&acc)[own_blocks]) {
        uint32 previous = 0;  // the empty barrier of the stage whose products may still run
        for(int k = 0; k < k_tiles; ++k, ring.next(), weight.next()) {
            if constexpr(D::weight_rows > 0)
                platform::mbarrier_wait(ring.weight_full(weight.tile), weight.parity());
            platform::mbarrier_wait(ring.full(), ring.parity);
            atom::wgmma_fence();
            CKGEN_UNROLL
            for(int b = 0; b < own_blocks; ++b)
                View::template multiply<Steps>(ring.data() + (first_block + b) * block_bytes,
                                               D::weight_rows > 0 ? weight.data : ring.data() + a_blocks * block_bytes,
                                               acc[b], teams == 1 || k > 0);
            atom::wgmma_commit();
            atom::wgmma_wait<1>();
            if(previous != 0 && id == 0)
                platform::mbarrier_arrive(previous);
            previous = ring.empty();
        }
        if constexpr(teams == 1)
            finish(previous, id, acc);
        return previous;
    }
    static CKGEN_DEVICE void finish(uint32 last, int id, Registers (&acc)[own_blocks]) {
        atom::wgmma_wait<0>();
        CKGEN_UNROLL
        for(int b = 0; b < own_blocks; ++b)
            atom::wgmma_done(acc[b]);
        if(last != 0 && id == 0)
            platform::mbarrier_arrive(last);
    }
    // Ends what a team began by issue(): `last` is the empty barrier of the last stage, 0 where there was none.
    static CKGEN_DEVICE void settle(uint32 last, int id, Registers (&acc)[own_blocks]) {
        finish(last, id, acc);
        if(last == 0) {
            clear(acc);
            CKGEN_UNROLL
            for(int b = 0; b < own_blocks; ++b)
                atom::wgmma_done(acc[b]);  // keeps this a branch: selecting each register takes 400 clocks
        }
    }
    static CKGEN_DEVICE void clear(Registers (&acc)[own_blocks]) {
        CKGEN_UNROLL
        for(int i = 0; i < own_blocks * D::n_per_block / 2; ++i)
            acc[i / (D::n_per_block / 2)][i % (D::n_per_block / 2)] = 0.f;
    }
    // Adds the pieces of a sum before this one, and keeps it for those after it.
    static CKGEN_DEVICE void add_piece(const platform::Thread& thread, const Args& args,
                                       const typename View::Tile& tile, float* slot, int first_block, int id, bool adds,
                                       bool keeps, Registers (&acc)[own_blocks]) {
        CKGEN_UNROLL
        for(int b = 0; b < own_blocks; ++b) {
            const int owner = (first_block + b) * 128 + id;
            const bool has_rows = Partials::has_rows(args, tile, owner);
            if(adds && has_rows)
                Partials::add_to(thread, slot + owner * 4, acc[b]);
            if(keeps && has_rows)
                Partials::keep(thread, slot + owner * 4, acc[b]);
        }
    }

    // The first store is made before the products are waited for; for more there are no registers.
    template <int Block>
    static CKGEN_DEVICE void write(const platform::Thread& thread, const Args& args, const typename View::Tile& tile,
                                   float* slot, int first_block, int id, uint32 last, bool adds,
                                   Registers (&acc)[own_blocks]) {
        const typename View::Store store(thread, args, tile, (first_block + Block) * 128 + id);
        if constexpr(Block == 0 && teams > 1) {
            settle(last, id, acc);
            if(adds)
                add_piece(thread, args, tile, slot, first_block, id, true, false, acc);
        }
        store.template put<D::n_per_block / 8 / View::Store::blocks_at_once>(0, acc[Block]);
        if constexpr(Block + 1 < own_blocks)
            write<Block + 1>(thread, args, tile, slot, first_block, id, last, adds, acc);
    }
};

// LoadRole: run(thread, args, ring), by one warp.
template <class D, class View, class LoadRole>
struct TmaRoles {
    using Args = typename View::Args;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr int resident = tma_resident<D>;
    // Two math warpgroups with 128 accumulators each need more registers than an even share.
    static constexpr bool moves_registers = D::warpgroups == 2 && D::acc_registers == 128;

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const TmaRing<D> ring = TmaRing<D>::first();
        const int id = thread.thread_id();
        if(id == 0) {
            for(TmaRing<D> each = ring; each.parity == 0; each.next()) {
                platform::mbarrier_init(each.full(), 1);
                platform::mbarrier_init(each.empty(), D::warpgroups / tma_consumers<D>);
            }
            if constexpr(tma_consumers<D> > 1)
                for(int team = 0; team < tma_consumers<D>; ++team)
                    platform::mbarrier_init(ring.turn(team), 1);
            if constexpr(D::weight_rows > 0) {
                for(int tile = 0; tile < D::weight_rows / 16; ++tile)
                    platform::mbarrier_init(ring.weight_full(tile), 1);
                platform::mbarrier_init(ring.weight_empty(), D::warpgroups);
            }
            platform::fence_mbarrier_init();
        }
        thread.barrier();
        // The barrier of the grid is in each branch: behind both, the load role's few registers would be all there are.
        const bool meets = platform::kGridBarrier && needs_fixup(args);
        if(id < 128) {
            if constexpr(moves_registers)
                platform::setmaxnreg_dec<40>();
            if(thread.uniform(id / 32) == 0)
                LoadRole::run(thread, args, ring);
            if(meets)
                platform::grid_barrier();
        } else {
            if constexpr(moves_registers)
                platform::setmaxnreg_inc<232>();
            TmaMathRole<D, View>::run(thread, args, ring, thread.uniform(id / 128) - 1, id % 128);
            if(meets) {
                platform::grid_barrier();
                fixup(args, thread);
            }
        }
    }

    // What all workgroups do when all have done the rest; see platform/kernel_traits.hpp.
    static CKGEN_HD bool needs_fixup(const Args& args) { return View::schedule(args).stream_k_tiles > 0; }
    static CKGEN_DEVICE void fixup(const Args& args, const platform::Thread& thread) {
        if(thread.thread_id() >= 128)
            epilogue::WgmmaFixup<D, View>::finish(thread, args, thread.thread_id() - 128);
    }
};

}  // namespace ckgen::pipeline
