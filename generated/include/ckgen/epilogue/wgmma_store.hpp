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
        if constexpr(D::c_vector == 1) {
            put_singles(block, acc);
            return;
        }
        const int weight = weight_of(block);
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            if(8 * half < rows_ && weight >= 0)
                thread_.global_store(target_ + half * eight_rows_ + weight + lane_ % 4 * 2,
                                     rounded(block, half, acc + 2 * half));
    }

private:
    // The weight of a row that the first of a block's 8 columns is; negative if these columns are padding.
    CKGEN_DEVICE int weight_of(int block) const { return columns_.weight(first_ + 8 * block); }
    CKGEN_DEVICE void put_quad(int quad, const float* acc) const {
        if constexpr(sizeof(Wei) == 2 && D::c_vector > 1) {
            put_lines(quad, acc);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                put_block(4 * quad + i, acc + 4 * i);
        }
    }
    // Stores single elements, of a 1x1 filter with any C.
    CKGEN_DEVICE void put_singles(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            const int half = i / 2, column = first_ + 8 * block + lane_ % 4 * 2 + i % 2;
            if(8 * half < rows_ && column < args_.n)
                thread_.global_store(target_ + half * eight_rows_ + column, single(column, half, acc[i]));
        }
    }
    CKGEN_DEVICE Wei single(int column, int half, float sum) const {
        if constexpr(D::fused) {
            const WeightPlace<D::Layout::ndim> at(args_, group_, args_.m - rows_ + 8 * half, 0, column);
            return Convert<Wei>::from(FusedInputsOf<D, 1>(thread_, args_.d, at).apply(args_.function, 0, sum));
        } else {
            return Convert<Wei>::from(sum);
        }
    }
    // A pair of 16-bit results is a fraction of a memory sector. The lanes therefore exchange pairs: each stores all 8
    // columns of one block.
    CKGEN_DEVICE void put_lines(int quad, const float* acc) const {
        const int weight = weight_of(4 * quad + lane_ % 4);
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            int32 words[4];
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                words[i] = __builtin_bit_cast(int32, rounded(4 * quad + i, half, acc + 4 * i + 2 * half));
            exchange_lanes(thread_, lane_, words);
            if(8 * half < rows_ && weight >= 0)
                thread_.global_store(target_ + half * eight_rows_ + weight,
                                     Vec<int32, 4>{words[0], words[1], words[2], words[3]});
        }
    }
    // The weights of two neighbouring columns of block `block`, in the upper or lower of the thread's two rows.
    CKGEN_DEVICE Vec<Wei, 2> rounded(int block, int half, const float* sums) const {
        if constexpr(D::fused) {
            FusedInputsOf<D, 2> inputs{};
            const int weight = weight_of(block);
            if(8 * half < rows_ && weight >= 0) {
                const int tap = weight / columns_.channels;
                const WeightPlace<D::Layout::ndim> at(args_, group_, args_.m - rows_ + 8 * half, tap,
                                                      weight - tap * columns_.channels + lane_ % 4 * 2);
                inputs = FusedInputsOf<D, 2>(thread_, args_.d, at);
            }
            return {Convert<Wei>::from(inputs.apply(args_.function, 0, sums[0])),
                    Convert<Wei>::from(inputs.apply(args_.function, 1, sums[1]))};
        } else {
            return {Convert<Wei>::from(sums[0]), Convert<Wei>::from(sums[1])};
        }
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
