// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_store.hpp. Do not edit; run: ckgen generate
// The epilogue of wgmma kernels of backward weight. The accumulators of a thread are pairs: of 8 neighbouring columns,
// each of four neighbouring lanes has two columns, in two rows. PTX ISA 9.0, 9.7.15.5.1 (accumulator layout);
// atom::WgmmaAccumulator.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/epilogue/lane_exchange.hpp"
#include "ckgen/epilogue/weight_columns.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::epilogue {

// Applies the function, rounds and stores the weights of one thread of the math role.
template <class D>
class WgmmaStore {
    using Args = typename D::KernelArgs;
    using Wei = typename D::Wei;

public:
    // `id` counts the threads of the math role.
    CKGEN_DEVICE WgmmaStore(const platform::Thread& thread, const Args& p, const conv::BwdWeightTile& tile, int id)
        : thread_(thread), args_(p), lane_(id % platform::kExchangeLanes), group_(tile.group), first_(tile.n_first),
          columns_(p), eight_rows_(static_cast<int64>(p.n) * 8) {
        const int row = tile.m_first + id / 128 * 64 + atom::WgmmaAccumulator::row(id % 128, 0);
        rows_ = p.m - row;
        target_ = reinterpret_cast<Wei*>(p.wei) + tile.group * p.wei_group_elements + static_cast<int64>(row) * p.n;
    }

    static constexpr int blocks_at_once = 4;  // blocks of 8 columns per put()

    // `acc`: 16 floats per quad, of four blocks of 8 columns, from column 32 * first on. All lanes take part.
    template <int Quads = 1>
    CKGEN_DEVICE void put(int first, const float* acc) const {
        CKGEN_UNROLL
        for(int quad = 0; quad < Quads; ++quad)
            put_quad(first + quad, acc + 16 * quad);
    }
    // `acc`: 4 floats, of the 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; i += together) {
            const int half = i / 2, weight = own_weight(block, i % 2);
            if(8 * half < rows_ && weight >= 0)
                thread_.global_store(target_ + half * eight_rows_ + weight, rounded<together>(weight, half, acc + i));
        }
    }

private:
    static constexpr int together = min_of(2, D::c_vector);  // neighbouring weights per store of put_block()

    // The weight of a row that column `e` of the thread's two in a block is; negative for padding. Unless single
    // weights are stored, all 8 columns of a block are weights or padding.
    CKGEN_DEVICE int own_weight(int block, int e = 0) const {
        return columns_.weight(first_ + 8 * block + lane_ % 4 * 2 + e);
    }
    CKGEN_DEVICE void put_quad(int quad, const float* acc) const {
        if constexpr(sizeof(Wei) == 2 && together == 2) {
            put_lines(quad, acc);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                put_block(4 * quad + i, acc + 4 * i);
        }
    }
    // A pair of 16-bit results is a fraction of a memory sector. The lanes therefore exchange pairs: each stores all 8
    // columns of one block.
    CKGEN_DEVICE void put_lines(int quad, const float* acc) const {
        const int weight = columns_.weight(first_ + 8 * (4 * quad + lane_ % 4));
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            int32 words[4];
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                words[i] =
                    __builtin_bit_cast(int32, rounded<2>(own_weight(4 * quad + i), half, acc + 4 * i + 2 * half));
            exchange_lanes(thread_, lane_, words);
            if(8 * half < rows_ && weight >= 0)
                thread_.global_store(target_ + half * eight_rows_ + weight,
                                     Vec<int32, 4>{words[0], words[1], words[2], words[3]});
        }
    }
    // Count neighbouring weights from `weight` on, which is negative for padding, in the upper or lower of the thread's
    // two rows.
    template <int Count>
    CKGEN_DEVICE Vec<Wei, Count> rounded(int weight, int half, const float* sums) const {
        return rounded_weights<D, Count>(thread_, args_, group_, args_.m - rows_ + 8 * half, weight,
                                         8 * half < rows_ && weight >= 0, sums);
    }

    const platform::Thread& thread_;
    const Args& args_;
    int lane_, group_;
    int32 rows_;  // of the weight, from the thread's first on
    int32 first_;
    WeightColumns columns_;
    int64 eight_rows_;
    Wei* target_;
};

}  // namespace ckgen::epilogue
