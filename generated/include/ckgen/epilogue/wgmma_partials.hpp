// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_partials.hpp. Do not edit; run: ckgen generate
// f32 sums of family wavelet_tma in the workspace, as the threads of the math role hold them: four floats of each
// thread side by side, then the next four. They are added up in a fixed order, so that results are reproducible to the
// bit.
#pragma once

#include "ckgen/epilogue/wgmma_store.hpp"

namespace ckgen::epilogue {

template <class D>
struct WgmmaPartials {
    static constexpr int threads = D::warpgroups * 128;
    static constexpr int blocks = D::n_per_block / 8;  // of 8 columns; a thread has four floats of each
    static constexpr int step = threads * 4;
    static constexpr int64 slot_floats = int64{blocks} * step;
    using Registers = float[D::n_per_block / 2];

    static CKGEN_DEVICE float* slot(const conv::BwdWeightArgs& p, int64 number, int id) {
        return p.partial + number * slot_floats + id * 4;
    }
    // Whether any of a thread's rows are rows of the weight: those of others are neither kept nor read.
    static CKGEN_DEVICE bool has_rows(const conv::BwdWeightArgs& p, const conv::BwdWeightTile& tile, int id) {
        return tile.m_first + id / 128 * 64 + atom::WgmmaAccumulator::row(id % 128, 0) < p.m;
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

    // Adds up the splits of the tail and writes its weights: all workgroups, a share of every tile each. It is bound by
    // the latency of the cache, so that a thread has eight loads under way.
    static CKGEN_DEVICE void finish(const platform::Thread& thread, const conv::BwdWeightArgs& p, int id) {
        if(p.schedule.split < 8)
            finish_parts<4>(thread, p, id);
        else
            finish_parts<1>(thread, p, id);
    }

private:
    // A part is PartBlocks blocks of the 64 rows of a warpgroup.
    template <int PartBlocks>
    static CKGEN_DEVICE void finish_parts(const platform::Thread& thread, const conv::BwdWeightArgs& p, int id) {
        constexpr int parts = blocks / PartBlocks;
        const int items = p.schedule.tail * parts * D::warpgroups;
        const int64 split_floats = p.schedule.tail * slot_floats;
        const int first = static_cast<int>(thread.block_id()) * D::warpgroups + id / 128;
        const int stride = static_cast<int>(thread.grid_size()) * D::warpgroups;
        for(int item = first; item < items; item += stride) {
            const int owner = item % D::warpgroups * 128 + id % 128;
            const int part = item / D::warpgroups % parts;
            const int tail = item / D::warpgroups / parts;
            const float* source = slot(p, tail, owner) + part * PartBlocks * step;
            constexpr int at_once = 8 / PartBlocks;
            float sums[4 * PartBlocks] = {};
            const auto tile = place(p, p.schedule.direct + tail);
            int left = has_rows(p, tile, owner) ? p.schedule.split : 0;
            for(; left >= at_once; left -= at_once)
                source = add<at_once, PartBlocks>(thread, source, split_floats, sums);
            for(; left > 0; --left)
                source = add<1, PartBlocks>(thread, source, split_floats, sums);
            const WgmmaStore<typename D::Wei> store(thread, p, tile, owner);
            if constexpr(PartBlocks == 4)
                store.put_quad(part, sums);
            else
                store.put_block(part, sums);
        }
    }

    // The next Count splits; gives where those after them begin.
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

    static CKGEN_DEVICE conv::BwdWeightTile place(const conv::BwdWeightArgs& p, int number) {
        return conv::BwdWeightTile::of_block<D>(p, static_cast<uint32>(number));
    }
};

}  // namespace ckgen::epilogue
