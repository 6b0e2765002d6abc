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

// Two workgroups share a multiprocessor where their stages fit: one stores while the other multiplies. Its shared
// memory is 228 KiB, of which the system takes one for each.
template <class D>
inline constexpr int tma_resident = 2 * (D::lds_bytes + 1024) <= 228 * 1024 ? 2 : 1;

// How many units math warpgroups have under way, of 64 or m_per_xdl rows for each.
template <class D>
inline constexpr int tma_teams = D::warpgroups * D::m_per_xdl / D::m_per_block;

// Where a stage and its barriers lie in shared memory.
template <class D>
struct TmaRing {
    uint32 base;
    int stage = 0;
    int parity = 0;

    CKGEN_DEVICE uint32 data() const { return base + static_cast<uint32>(stage * D::lds_stage_bytes); }
    CKGEN_DEVICE uint32 full() const { return base + D::stages * D::lds_stage_bytes + static_cast<uint32>(stage) * 16; }
    CKGEN_DEVICE uint32 empty() const { return full() + 8; }
    // Swizzled stages begin at multiples of 1024.
    static CKGEN_DEVICE uint32 start() { return (platform::lds_start() + 1023u) & ~1023u; }
    // Of the workgroup's LDS, the first byte behind the ring and the teams' barriers.
    static CKGEN_DEVICE int end_byte() {
        return static_cast<int>(start() - platform::lds_start()) + D::stages * (D::lds_stage_bytes + 16) + 16;
    }
    // Where a team waits for its turn, behind the last stage's barriers: 16 bytes that rounding `base` up leaves over.
    CKGEN_DEVICE uint32 turn(int team) const {
        return base + D::stages * (D::lds_stage_bytes + 16) + static_cast<uint32>(team) * 8;
    }
    CKGEN_DEVICE void next() {
        if(++stage == D::stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    CKGEN_DEVICE void skip(int count) {
        const int rounds = (stage + count) / D::stages;
        stage += count - rounds * D::stages;
        parity ^= rounds & 1;
    }
};

// Warpgroups either share a unit, 64 rows each, or are teams of one that take units by turns, all their rows each, so
// that one stores its results while another multiplies. A team begins to multiply when the one before it has its
// products: parities tell a stage's phase from the one before, and from none further ahead.
template <class D, class View>
struct TmaMathRole {
    using Args = typename View::Args;
    using Partials = epilogue::WgmmaPartials<D, View>;
    using Registers = typename Partials::Registers;
    static constexpr int block_bytes = 64 * 128;  // 64 rows of a stage, 128 bytes each
    static constexpr int a_blocks = D::m_per_block / 64;
    static constexpr int teams = tma_teams<D>;
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
        const int step = static_cast<int>(thread.grid_size());
        typename View::Tile next = View::unit(args, workgroup < schedule.units() ? workgroup : 0);
        for(int u = workgroup; u < schedule.units(); u += step) {
            const typename View::Tile tile = next;
            const bool mine = turn == team;
            turn = turn + 1 == teams ? 0 : turn + 1;
            if(!mine) {
                ring.skip(tile.k_tiles);
                next = View::unit(args, u + step < schedule.units() ? u + step : u);
                continue;
            }
            const bool direct = u < schedule.direct;
            float* const slot = Partials::slot(
                args, direct ? schedule.tail_units() + workgroup * teams + team : u - schedule.direct, 0);
            Registers acc[own_blocks];
            if constexpr(teams > 1) {
                platform::mbarrier_wait(ring.turn(team), parity);
                parity ^= 1;
            }
            int k = 0;
            do {
                const int left = tile.k_tiles - k;
                const int end = k + (left < View::chunk(args) ? left : View::chunk(args));
                sum(args, ring, first_block, id, end - k, acc);
                CKGEN_UNROLL
                for(int b = 0; b < own_blocks; ++b) {
                    const int owner = (first_block + b) * 128 + id;
                    const bool keeps = Partials::has_rows(args, tile, owner);
                    if(k > 0 && keeps)
                        Partials::add_to(thread, slot + owner * 4, acc[b]);
                    if(keeps && (!direct || end < tile.k_tiles))
                        Partials::keep(thread, slot + owner * 4, acc[b]);
                }
                k = end;
            } while(k < tile.k_tiles);
            if constexpr(teams > 1) {
                platform::barrier_of(1 + warpgroup, 128);  // all have seen their turn, also of a unit without products
                if(id == 0)
                    platform::mbarrier_arrive(ring.turn(team + 1 == teams ? 0 : team + 1));
            }
            // Worked out while the results are written.
            next = View::unit(args, u + step < schedule.units() ? u + step : u);
            if(direct) {
                CKGEN_UNROLL
                for(int b = 0; b < own_blocks; ++b)
                    write(thread, args, tile, (first_block + b) * 128 + id, acc[b]);
            }
        }
    }

private:
    // acc = the products of the next k_tiles stages. A loop for each number of steps: a branch among a stage's products
    // would make them wait for each other.
    static CKGEN_DEVICE void sum(const Args& args, TmaRing<D>& ring, int first_block, int id, int k_tiles,
                                 Registers (&acc)[own_blocks]) {
        CKGEN_UNROLL
        for(int i = 0; i < own_blocks * D::n_per_block / 2; ++i)
            acc[i / (D::n_per_block / 2)][i % (D::n_per_block / 2)] = 0.f;
        const int steps = View::steps(args);
        if(steps == 4)
            add_stages<4>(ring, first_block, id, k_tiles, acc);
        else if(steps == 3)
            add_stages<3>(ring, first_block, id, k_tiles, acc);
        else if(steps == 2)
            add_stages<2>(ring, first_block, id, k_tiles, acc);
        else
            add_stages<1>(ring, first_block, id, k_tiles, acc);
    }
    template <int Steps>
    static CKGEN_DEVICE void add_stages(TmaRing<D>& ring, int first_block, int id, int k_tiles,
                                        Registers (&acc)[own_blocks]) {
        uint32 previous = 0;  // the empty barrier of the stage whose products may still run
        for(int k = 0; k < k_tiles; ++k, ring.next()) {
            platform::mbarrier_wait(ring.full(), ring.parity);
            atom::wgmma_fence();
            CKGEN_UNROLL
            for(int b = 0; b < own_blocks; ++b)
                View::template multiply<Steps>(ring.data() + (first_block + b) * block_bytes,
                                               ring.data() + a_blocks * block_bytes, acc[b]);
            atom::wgmma_commit();
            atom::wgmma_wait<1>();
            if(previous != 0 && id == 0)
                platform::mbarrier_arrive(previous);
            previous = ring.empty();
        }
        atom::wgmma_wait<0>();
        CKGEN_UNROLL
        for(int b = 0; b < own_blocks; ++b)
            atom::wgmma_done(acc[b]);
        if(previous != 0 && id == 0)
            platform::mbarrier_arrive(previous);
    }

    static CKGEN_DEVICE void write(const platform::Thread& thread, const Args& args, const typename View::Tile& tile,
                                   int id, const Registers& acc) {
        const typename View::Store store(thread, args, tile, id);
        store.template put<D::n_per_block / 8 / View::Store::blocks_at_once>(0, acc);
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
        const TmaRing<D> ring{TmaRing<D>::start()};
        const int id = thread.thread_id();
        if(id == 0) {
            for(TmaRing<D> each = ring; each.parity == 0; each.next()) {
                platform::mbarrier_init(each.full(), 1);
                platform::mbarrier_init(each.empty(), D::warpgroups / tma_teams<D>);
            }
            if constexpr(tma_teams<D> > 1)
                for(int team = 0; team < tma_teams<D>; ++team)
                    platform::mbarrier_init(ring.turn(team), 1);
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
            TmaMathRole<D, View>::run(thread, args, ring, thread.uniform(id / 128) - 1, id % 128);
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
