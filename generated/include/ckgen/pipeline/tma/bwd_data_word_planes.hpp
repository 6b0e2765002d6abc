// Copied by ckgen from templates/include/ckgen/pipeline/tma/bwd_data_word_planes.hpp. Do not edit; run: ckgen generate
// Family wavelet_tma of backward data for pointwise filters and tensors of 32 bits with neighbouring positions side by
// side, whose images may have any number of positions: the threads of the load role copy single words of the output
// (word_rows.hpp). Rows of the product are the positions of all images. The weight is loaded as in
// pipeline/tma/bwd_data_planes_tma.hpp, or, with a b_vector of 1, word by word from the tensor itself.
#pragma once

#include "ckgen/epilogue/wgmma_word_store.hpp"
#include "ckgen/pipeline/tma/bwd_data_planes_tma.hpp"
#include "ckgen/pipeline/tma/word_rows.hpp"

namespace ckgen::pipeline {

template <class D>
struct WordPlanesBwdDataArgs {
    platform::TensorMap wei;
    typename D::KernelArgs problem;
    conv::BwdDataUnits units;
};

// A warp copies the rows of a box of 32 positions, or two warps every second one.
template <class D>
struct WordPlanesBwdDataLoadRole {
    using Args = WordPlanesBwdDataArgs<D>;
    using Tile = conv::BwdDataTile<1>;
    using Box = atom::SwizzledTile<typename D::Out, D::k_per_block, 32>;
    static constexpr int warps = 4 * 32 / D::m_per_block;  // per box
    static_assert(warps == 1 || warps == 2, "each warp has rows of one box");

    static CKGEN_DEVICE void prefetch_maps(const Args& args) {
        if constexpr(kTransposesWeight<D>)
            platform::prefetch_map(args.wei);
    }
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const auto& p = args.problem;
        const int warp = thread.uniform(thread.thread_id() / 32), box = warp / warps;
        const bool leader = warp == 0 && platform::elect_lane(thread);
        const WordRows<D::k_per_block, warps> rows(thread, warp % warps);
        const Weight weight(thread, warp);
        const auto round = [&](const TmaRing<D>& stage) {
            if constexpr(IsSame<typename D::ComputeA, tf32_t>::value)
                round_stage(static_cast<int>(stage.data() - platform::lds_start()), rows, box, weight);
        };
        WordStages<D> stages(ring);
        bool waited = false;
        const conv::UnitRun run = tma_units<D>(thread, args.units.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const Tile tile = Tile::template of_unit<D>(p, args.units, u);
            if(tile.k_tiles == 0)
                continue;
            const conv::Walk<2> at(tile.count, args.units.sub_gemms[0].by,
                                   tile.m_first + box * 32 + thread.thread_id() % 32);
            int channel = tile.k_tile_first * p.tap_rows;
            const char* source = p.out + tile.group * p.out_group_bytes + at.at[0] * p.out_image_bytes +
                                 at.at[1] * int64{sizeof(typename D::Out)} +
                                 (channel + warp % warps) * int64{p.out_k_bytes};
            if(!waited)
                platform::pdl_wait();
            waited = true;
            for(int k = 0; k < tile.k_tiles; ++k, ring.next()) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                copy_weight(leader, args, ring, weight, tile, channel);
                rows.copy(ring.data() + box * Box::bytes, source, p.out_k_bytes,
                          at.at[0] < p.images ? min_of(p.k - channel, p.tap_rows) : 0);
                stages.add(thread, round);
                channel += p.tap_rows;
                source += p.tap_rows * int64{p.out_k_bytes};
            }
        }
        stages.finish(thread, round);
    }

private:
    using Weight = WordColumns<D::n_per_block>;

    // `byte`: of LDS, where the stage begins.
    static CKGEN_DEVICE void round_stage(int byte, const WordRows<D::k_per_block, warps>& rows, int box,
                                         const Weight& weight) {
        rows.round(byte + box * Box::bytes);
        if constexpr(!kTransposesWeight<D>)
            weight.round(byte + D::m_per_block * 128);
    }
    static CKGEN_DEVICE void copy_weight(bool leader, const Args& args, const TmaRing<D>& ring, const Weight& weight,
                                         const Tile& tile, int channel) {
        const uint32 target = ring.data() + D::m_per_block * 128;
        if constexpr(!kTransposesWeight<D>) {
            const auto& p = args.problem;
            weight.copy(target,
                        p.wei + tile.group * p.wei_group_bytes + (channel + weight.word()) * p.wei_k_bytes +
                            (tile.n_first + weight.row()) * int64{p.wei_c_bytes},
                        p.wei_k_bytes, p.wei_c_bytes, p.n - tile.n_first, min_of(p.k - channel, p.tap_rows));
        } else if(leader) {
            platform::mbarrier_expect(ring.full(), kTransposedBytes<D>);
            copy_transposed<D>(args, target, ring.full(), channel, tile.n_first, 0, tile.group);
        }
    }
};
// The warps arrive, and the copy of the weight, if there is one.
template <class D>
inline constexpr int load_arrivals<WordPlanesBwdDataLoadRole<D>> = kTransposesWeight<D> ? 5 : 4;

template <class D>
using WordPlanesBwdDataView = PlanesTmaBwdDataView<D, WordPlanesBwdDataArgs<D>, epilogue::WgmmaWordStore<D>>;

template <class D>
struct WordPlanesBwdDataKernel : TmaRoles<D, WordPlanesBwdDataView<D>, WordPlanesBwdDataLoadRole<D>>,
                                 PlanesTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
