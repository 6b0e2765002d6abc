// The f32 partials of families wavelet_tma and stationary in the workspace, and the stream-K fixup that adds them. A
// slot has the accumulators of the math role: four floats of each thread side by side, then the next four of each
// thread. The fixup adds in a fixed order, so that results are reproducible to the bit.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/conv/tile_schedule.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::epilogue {

// View: see pipeline/tma/tma_roles.hpp.
template <class D, class View>
struct WgmmaFixup {
    using Args = typename View::Args;
    using Tile = typename View::Tile;
    static constexpr int rows = D::m_per_block / 64;  // of 64 rows, one per warpgroup
    static constexpr int threads = rows * 128;
    static constexpr int blocks = D::n_per_block / 8;  // of 8 columns; a thread has four floats per block
    static constexpr int step = threads * 4;
    static constexpr int64 slot_floats = int64{blocks} * step;
    using Registers = float[D::n_per_block / 2];

    static CKGEN_DEVICE float* slot(const Args& args, int64 number, int id) {
        return View::partials(args) + number * slot_floats + id * 4;
    }
    // True if any row of the thread is a row of the result. Partials of other rows are neither stored nor read.
    static CKGEN_DEVICE bool has_rows(const Args& args, const Tile& tile, int id) {
        return View::has_row(args, tile, id / 128 * 64 + View::Accumulator::row(id % 128, 0));
    }
    static CKGEN_DEVICE void keep(const platform::Thread& thread, float* slot, const Registers& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < blocks; ++i)
            thread.global_store(slot + i * step,
                                Vec<float, 4>{acc[4 * i], acc[4 * i + 1], acc[4 * i + 2], acc[4 * i + 3]});
    }
    static CKGEN_DEVICE void add_to(const platform::Thread& thread, const float* slot, Registers& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < blocks; ++i) {
            const auto before = thread.template global_load<Vec<float, 4>>(slot + i * step);
            CKGEN_UNROLL
            for(int e = 0; e < 4; ++e)
                acc[4 * i + e] += before[e];
        }
    }

    // Adds the splits of the stream-K tiles and stores the results. Each workgroup processes a part of every tile.
    // Cache latency bounds it, so each thread has eight loads in flight. Whole lines of results are stored at once.
    static CKGEN_DEVICE void fixup(const platform::Thread& thread, const Args& args, int id) {
        if(blocks % View::Store::blocks_at_once == 0 && View::schedule(args).splits < 8)
            fixup_parts<View::Store::blocks_at_once>(thread, args, id);
        else
            fixup_parts<1>(thread, args, id);
    }

private:
    // A part is PartBlocks blocks of the 64 rows of a warpgroup.
    template <int PartBlocks>
    static CKGEN_DEVICE void fixup_parts(const platform::Thread& thread, const Args& args, int id) {
        constexpr int parts = blocks / PartBlocks;
        const conv::TileSchedule& schedule = View::schedule(args);
        const int items = schedule.stream_k_tiles * parts * rows;
        const int64 split_floats = schedule.stream_k_tiles * slot_floats;
        const int first = static_cast<int>(thread.block_id()) * D::warpgroups + id / 128;
        const int stride = static_cast<int>(thread.grid_size()) * D::warpgroups;
        for(int item = first; item < items; item += stride) {
            const int owner = item % rows * 128 + id % 128;
            const int part = item / rows % parts;
            const int number = item / rows / parts;  // number of the stream-K tile
            const float* source = slot(args, number, owner) + part * PartBlocks * step;
            constexpr int at_once = 8 / PartBlocks;
            float sums[4 * PartBlocks] = {};
            const Tile tile = View::tile(args, schedule.data_parallel_tiles + number);
            int left = has_rows(args, tile, owner) ? schedule.splits : 0;
            for(; left >= at_once; left -= at_once)
                source = add<at_once, PartBlocks>(thread, source, split_floats, sums);
            for(; left > 0; --left)
                source = add<1, PartBlocks>(thread, source, split_floats, sums);
            const typename View::Store store(thread, args, tile, owner);
            if constexpr(PartBlocks > 1)
                store.put(part, sums);
            else
                store.put_block(part, sums);
        }
    }

    // Adds the next Count splits; returns the address of the split after them.
    template <int Count, int PartBlocks>
    static CKGEN_DEVICE const float* add(const platform::Thread& thread, const float* source, int64 split_floats,
                                         float (&sums)[4 * PartBlocks]) {
        Vec<float, 4> terms[Count][PartBlocks];
        CKGEN_UNROLL
        for(int s = 0; s < Count; ++s)
            CKGEN_UNROLL
        for(int i = 0; i < PartBlocks; ++i)
            terms[s][i] = thread.template global_load<Vec<float, 4>>(source + s * split_floats + i * step);
        CKGEN_UNROLL
        for(int s = 0; s < Count; ++s)
            CKGEN_UNROLL
        for(int e = 0; e < 4 * PartBlocks; ++e)
            sums[e] += terms[s][e / 4][e % 4];
        return source + Count * split_floats;
    }
};

}  // namespace ckgen::epilogue
