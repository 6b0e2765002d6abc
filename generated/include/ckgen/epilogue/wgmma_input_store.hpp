// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_input_store.hpp. Do not edit; run: ckgen generate
// Where the accumulators of wgmma go in backward data: the function of each sum and of D tensors, lines of eight
// channels at a time. See epilogue/wgmma_store.hpp for how the threads hold them.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/epilogue/lane_exchange.hpp"

namespace ckgen::epilogue {

// Writes the results of one thread of the math role.
template <class D>
class WgmmaInputStore {
    static constexpr int ndim = D::kernel_ndim;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;

public:
    // `id` counts the threads of the math role.
    CKGEN_DEVICE WgmmaInputStore(const platform::Thread& thread, const Args& args, const Tile& tile, int id)
        : thread_(thread), args_(args), lane_(id % platform::kExchangeLanes), columns_(args.n - tile.n_first) {
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            const int row = tile.m_first + id / 128 * 64 + atom::WgmmaAccumulator::row(id % 128, 2 * half);
            there_[half] = row < tile.rows;
            at_[half] = place_of(tile, conv::Walk<ndim + 1>(tile.count, there_[half] ? row : 0));
            at_[half].channel = tile.n_first;
            offset_[half] = input_offset<D>(at_[half], args.in);
        }
    }

    // `acc`: 16 floats, those of four blocks of 8 columns from column 32 * quad on. All lanes take part.
    CKGEN_DEVICE void put_quad(int quad, const float* acc) const {
        const int column = 32 * quad + lane_ % 4 * 8;
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            const bool there = there_[half] && column < columns_;
            if constexpr(D::d_tensors == 0)
                put_rounded(half, column, there, acc + 2 * half);
            else
                put_fused(half, column, there, acc + 2 * half);
        }
    }
    // `acc`: 4 floats, those of 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            if(there_[half] && 8 * block < columns_)
                write<2>(half, 8 * block + lane_ % 4 * 2, {acc[2 * half], acc[2 * half + 1]});
    }

private:
    // Without D tensors the function comes before the exchange, which then moves half as many bytes.
    CKGEN_DEVICE void put_rounded(int half, int column, bool there, const float* acc) const {
        const FusedInputs<1, Tuple<>, Tuple<>> none(thread_, args_.d, at_[half]);
        int32 words[4];
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            words[i] =
                __builtin_bit_cast(int32, Vec<In, 2>{Convert<In>::from(none.apply(args_.function, 0, acc[4 * i])),
                                                     Convert<In>::from(none.apply(args_.function, 0, acc[4 * i + 1]))});
        exchange_lanes(thread_, lane_, words);
        if(there)
            thread_.global_store(reinterpret_cast<In*>(args_.target) + offset_[half] + column,
                                 Vec<int32, 4>{words[0], words[1], words[2], words[3]});
    }
    CKGEN_DEVICE void put_fused(int half, int column, bool there, const float* acc) const {
        int32 even[4];
        int32 odd[4];
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            even[i] = __builtin_bit_cast(int32, acc[4 * i]);
            odd[i] = __builtin_bit_cast(int32, acc[4 * i + 1]);
        }
        exchange_lanes(thread_, lane_, even);
        exchange_lanes(thread_, lane_, odd);
        float sums[8];
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            sums[2 * i] = __builtin_bit_cast(float, even[i]);
            sums[2 * i + 1] = __builtin_bit_cast(float, odd[i]);
        }
        if(there)
            write<8>(half, column, sums);
    }
    template <int Width>
    CKGEN_DEVICE void write(int half, int column, const float (&sums)[Width]) const {
        InputPlace<ndim> at = at_[half];
        at.channel += column;
        write_fused<D>(thread_, args_, at, offset_[half] + column, sums);
    }

    const platform::Thread& thread_;
    const Args& args_;
    int lane_;
    int32 columns_;  // of the input's channels, from the tile's first on
    bool there_[2];
    InputPlace<ndim> at_[2];  // of the thread's two rows, and the tile's first channel
    int64 offset_[2];
};

}  // namespace ckgen::epilogue
