// The epilogue of backward weight for results of atom/warp_tile.hpp: applies the function and stores two neighbouring
// weights of two output channels; four lanes fill sectors of 32 bytes.
#pragma once

#include "ckgen/atom/warp_tile.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/epilogue/weight_columns.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::epilogue {

template <class D>
class WarpTileStore {
    using Args = typename D::KernelArgs;
    using Wei = typename D::Wei;
    using Map = atom::WarpTileAccumulator<D::n_per_block>;

public:
    // `id` counts the threads of the math role.
    CKGEN_DEVICE WarpTileStore(const platform::Thread& thread, const Args& p, const conv::BwdWeightTile& tile, int id)
        : thread_(thread), args_(p), id_(id % 128), group_(tile.group), row_(tile.m_first + id / 128 * 64),
          column_(tile.n_first), columns_(p),
          target_(reinterpret_cast<Wei*>(p.wei) + tile.group * p.wei_group_elements) {}

    static constexpr int blocks_at_once = 4;  // per quad of put()

    // `acc`: 16 floats per quad, of four blocks from block 4 * first on.
    template <int Quads = 1>
    CKGEN_DEVICE void put(int first, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4 * Quads; ++i)
            put_block(4 * first + i, acc + 4 * i);
    }
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int first = 0; first < 2; first += together) {
            const int weight = columns_.weight(column_ + Map::column(id_, block) + first);
            CKGEN_UNROLL
            for(int half = 0; half < 2; ++half) {
                const int row = row_ + Map::row(id_, block) + half;
                if(row < args_.m && weight >= 0)
                    thread_.global_store(target_ + static_cast<int64>(row) * args_.n + weight,
                                         rounded_weights<D, together>(thread_, args_, group_, row, weight, true,
                                                                      acc + 2 * half + first));
            }
        }
    }

private:
    static constexpr int together = min_of(2, D::c_vector);  // neighbouring weights per store

    const platform::Thread& thread_;
    const Args& args_;
    const int id_, group_, row_, column_;
    const WeightColumns columns_;
    Wei* const target_;
};

}  // namespace ckgen::epilogue
