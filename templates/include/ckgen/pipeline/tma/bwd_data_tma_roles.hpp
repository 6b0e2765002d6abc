// The common part of the wgmma kernels of backward data: the load role, and a part of the View
// (pipeline/tma/tma_roles.hpp).
//
// Copies describes what the load role copies:
//   Args, Tile           the kernel's argument, a unit's part of the work
//   Rows(args, tile)     where the rows of a tile begin
//   Step(args, tile)     a tile of GEMM-K; advance(args, tile) moves to the next
//   first_map(args)      the map of the first sub-GEMM's output
//   copy_tile(args, ring, tile, rows, step)
//                        copies the operands of a stage, B only if it does not stay
// If all threads of a warpgroup load, Rows has the thread as its first argument, and copy_tile, which all of them call,
// true for one of them.
//   copy_weight<Rows>(args, target, barrier, tile, step)
//                        copies a tile of B, whose boxes of 64 columns have Rows rows
#pragma once

#include "ckgen/atom/plane_fragments.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/pipeline/tma/tma_part_products.hpp"
#include "ckgen/pipeline/tma/tma_roles.hpp"

namespace ckgen::pipeline {

// True if the kernel reads a copy of the weight with the output channels innermost, in boxes of 128 bytes of them by
// all columns of the tile: wgmma takes tf32 only from K-major operands in shared memory. Exchanged, threads load the
// weight, which is then operand A, from the tensor's own order to registers. With a b_vector of 1 they copy single
// words.
template <class D>
inline constexpr bool kTransposesWeight = sizeof(typename D::Out) == 4 && !kExchanges<D> && D::b_vector > 1;

// Bytes of a stage of that copy: rows of 128 bytes, of each part.
template <class D>
inline constexpr int kTransposedBytes = D::weight_parts * D::n_per_block * 128;
// Loads a stage of it. The low parts of all groups follow the high ones, in memory and in the stage.
template <class D, class Args>
CKGEN_DEVICE void copy_transposed(const Args& args, uint32 target, uint32 full, int channel, int column, int tap,
                                  int group) {
    CKGEN_UNROLL
    for(int part = 0; part < D::weight_parts; ++part)
        platform::tma_load_nd(target + part * D::n_per_block * 128, args.wei, full, channel, column, tap,
                              group + part * args.problem.groups);
}

// As in pipeline/tma/wavelet_tma.hpp, all lanes of one warp compute the same, and one lane issues the copies.
template <class D, class Copies>
struct BwdDataTmaLoadRole {
    using Args = typename Copies::Args;
    using Tile = typename Copies::Tile;

    static CKGEN_DEVICE void prefetch_maps(const Args& args) {
        platform::prefetch_map(Copies::first_map(args));
        platform::prefetch_map(args.wei);
    }
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const bool leader = (!by_warpgroup || thread.thread_id() < 32) && platform::elect_lane(thread);
        const conv::UnitRun run = tma_units<D>(thread, args.units.schedule);
        TmaWeight weight;
        bool waited = false;
        for(int u = run.first; u < run.end; u += run.step) {
            const Tile tile = Tile::template of_unit<D>(args.problem, args.units, u);
            if(tile.k_tiles == 0)
                continue;
            const bool changes = D::weight_rows > 0 && weight.changes(tile);
            if(changes && weight.changed > 1)
                platform::mbarrier_wait(ring.weight_empty(), weight.changed & 1);
            const auto rows = rows_of(thread, args, tile);
            typename Copies::Step step(args, tile);
            if(!waited)
                platform::pdl_wait();
            waited = true;
            for(int k = 0; k < tile.k_tiles; ++k, ring.next(), step.advance(args, tile)) {
                if constexpr(D::weight_rows > 0)
                    if(changes && leader)
                        copy_weight_to_stay(args, ring, tile, step, k);
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                if constexpr(by_warpgroup)
                    Copies::copy_tile(leader, args, ring, tile, rows, step);
                else if(leader)
                    Copies::copy_tile(args, ring, tile, rows, step);
            }
        }
    }

private:
    static constexpr bool by_warpgroup = load_arrivals<BwdDataTmaLoadRole> > 1;

    static CKGEN_DEVICE typename Copies::Rows rows_of(const platform::Thread& thread, const Args& args,
                                                      const Tile& tile) {
        if constexpr(by_warpgroup)
            return {thread, args, tile};
        else
            return {args, tile};
    }
    static CKGEN_DEVICE void copy_weight_to_stay(const Args& args, const TmaRing<D>& ring, const Tile& tile,
                                                 const typename Copies::Step& step, int k) {
        platform::mbarrier_expect(ring.weight_full(k), D::n_per_block * 2 * args.problem.tap_rows);
        Copies::template copy_weight<D::weight_rows>(
            args, TmaRing<D>::weight() + static_cast<uint32>(k * args.problem.tap_rows * 128), ring.weight_full(k),
            tile, step);
    }
};

// KernelArgs: has the planned arguments as `problem` and `units`. Epilogue: writes the results of one thread.
template <class D, class KernelArgs, class Epilogue>
struct BwdDataTmaView {
    static constexpr bool plans_ahead = D::d_tensors == 0;
    static constexpr bool shares_tiles = true;
    static constexpr bool a_in_registers = false;
    static constexpr bool has_products = tma_multiplies_f32<D>;
    using Accumulator = atom::WgmmaAccumulator;
    using Args = KernelArgs;
    using Tile = conv::BwdDataTile<D::kernel_ndim>;
    static CKGEN_HD const conv::TileSchedule& schedule(const Args& args) { return args.units.schedule; }
    static CKGEN_DEVICE float* partials(const Args& args) { return args.problem.partial; }
    static CKGEN_DEVICE int chunk(const Args& args) { return args.units.k_tiles_per_chunk; }
    static CKGEN_DEVICE Tile unit(const Args& args, int number) {
        return Tile::template of_unit<D>(args.problem, args.units, number);
    }
    static CKGEN_DEVICE Tile tile(const Args& args, int number) {
        return Tile::template of_tile<D>(args.problem, args.units, number);
    }
    static CKGEN_DEVICE bool has_row(const Args&, const Tile& tile, int row) { return tile.m_first + row < tile.rows; }
    static CKGEN_DEVICE uint32 weight_tile_bytes(const Args& args) {
        return static_cast<uint32>(args.problem.tap_rows) * 128;
    }

    // Multiplies an MN-major A of tf32, which the warpgroup's threads load to registers, by a K-major B.
    template <int Steps>
    static CKGEN_DEVICE void multiply_registers(const platform::Thread& thread, uint32 a, uint32 b,
                                                float (&acc)[D::n_per_block / 2], bool accumulate) {
        uint32 fragments[Steps][4];
        atom::PlaneFragments<D::k_per_block>(thread, a).load(fragments);
        const atom::SwizzledTile<typename D::Out, D::n_per_block, D::k_per_block> b_tile(b);
        atom::wgmma_fence();  // after the loads
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma_of_registers<D::n_per_block>(acc, fragments[k], b_tile.k_major_descriptor(8 * k),
                                                     accumulate || k > 0);
    }

    struct Store : Epilogue {
        CKGEN_DEVICE Store(const platform::Thread& thread, const Args& args, const Tile& tile, int id)
            : Epilogue(thread, args.problem, args.units, tile, id, lds_of_warp(thread)) {}
        static CKGEN_DEVICE void prefetch(const Args& args, const Tile& tile, int id) {
            Epilogue::prefetch(args.problem, args.units, tile, id);
        }

    private:
        static_assert(D::lds_store_bytes == Epilogue::lds_bytes, "of a warp");
        static CKGEN_DEVICE int lds_of_warp(const platform::Thread& thread) {
            return TmaRing<D>::end_byte() + (thread.uniform(thread.thread_id() / 32) - 4) * D::lds_store_bytes;
        }
    };
};

}  // namespace ckgen::pipeline
