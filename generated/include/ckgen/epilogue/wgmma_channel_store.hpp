// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_channel_store.hpp. Do not edit; run: ckgen generate
// The epilogue of exchanged wgmma kernels of backward data in tf32, whose rows are input channels in the order of
// atom/plane_fragments.hpp and whose columns are positions: applies the function to each sum and stores the results.
// The four warps of a warpgroup have 64 neighbouring channels. They transpose their accumulators through shared memory,
// so that eight lanes store 128 bytes of a position. With D tensors they store single elements.
#pragma once

#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/epilogue/lane_exchange.hpp"
#include "ckgen/epilogue/plane_words.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::epilogue {

// Writes the results of one thread of the math role.
template <class D>
class WgmmaChannelStore {
    static constexpr int ndim = D::kernel_ndim;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;
    using Place = InputPlace<ndim>;
    static_assert(sizeof(In) == 4, "rows of 32 bits");

public:
    static constexpr int line_columns = 32;  // positions of a line in shared memory, each with 64 channels
    static constexpr int line_bytes = 64 * 128;
    static constexpr int blocks_at_once = line_columns / 8;  // blocks of 8 columns per put()
    static constexpr int most_lines = min_of(D::n_per_block, 128) / 64;
    static constexpr int lds_bytes = most_lines * line_bytes / 4;  // per warp

    // `id` counts the threads that have the tile's rows; `lds` is the address of the warp's memory, beside that of the
    // other warps of the warpgroup. Each lane computes the address of one position per run for its warp.
    CKGEN_DEVICE WgmmaChannelStore(const platform::Thread& thread, const Args& args, const conv::BwdDataUnits& units,
                                   const Tile& tile, int id, int lds)
        : thread_(thread), args_(args), units_(units), tile_(tile), id_(id % 128), lds_(lds - id_ / 32 * lds_bytes),
          first_channel_(tile.n_first + id / 128 * 64) {
        CKGEN_UNROLL
        for(int i = 0; i < runs; ++i) {
            const int column = 128 * i + id_ % 32 / 2 * 8 + id_ / 32 * 2 + id_ % 2;
            offset_[i] = column < D::n_per_block ? offset_of(column) : kNone;
        }
    }
    static CKGEN_DEVICE void prefetch(const Args&, const conv::BwdDataUnits&, const Tile&, int) {}

    // `acc`: 16 floats per line, from column line_columns * first on. The whole warpgroup takes part.
    template <int Lines = 1>
    CKGEN_DEVICE void put(int first, const float* acc) const {
        if constexpr(D::d_tensors == 0) {
            put_lines<Lines>(first, acc);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < Lines * blocks_at_once; ++i)
                put_block(first * blocks_at_once + i, acc + 4 * i);
        }
    }
    // `acc`: 4 floats, of the 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            const int row = tile_.m_first + 8 * block + atom::WgmmaAccumulator::column(id_, i);
            const int channel = first_channel_ + atom::PlaneRows::position(id_, i / 2);
            if(row < tile_.rows && channel < args_.n) {
                Place at = place_of(tile_, walk_of_row(units_, tile_, row));
                at.channel = channel;
                write_fused<D>(thread_, args_, at, input_offset<D>(at, args_.in), {acc[i]});
            }
        }
    }

private:
    static constexpr int64 kNone = -1;                          // for a position past the last
    static constexpr int runs = ceil_div(D::n_per_block, 128);  // of 128 positions

    CKGEN_DEVICE int64 offset_of(int column) const {
        const int row = tile_.m_first + column;
        if(row >= tile_.rows)
            return kNone;
        Place at = place_of(tile_, walk_of_row(units_, tile_, row));
        at.channel = first_channel_;
        return input_offset<D>(at, args_.in);
    }
    template <int Lines>
    CKGEN_DEVICE void put_lines(int first, const float* acc) const {
        constexpr int at_once = min_of(Lines, most_lines);
        const int barrier = thread_.uniform(thread_.thread_id() / 128);
        platform::barrier_of(barrier, 128);  // what the warpgroup put there before has been read
        const FusedInputs<1, Tuple<>, Tuple<>> none(thread_, args_.d, Place{});
        PlaneWords::put<blocks_at_once * at_once>(
            thread_, lds_, id_, acc, [&](float sum) { return Convert<In>::from(none.apply(args_.function, 0, sum)); });
        platform::barrier_of(barrier, 128);
        const int row = id_ / 8, slot = id_ % 8;  // 16 rows at once: 8 positions
        const int channel = row % 2 * 32 + slot * 4;
        In* const target = reinterpret_cast<In*>(args_.target) + channel;
        CKGEN_UNROLL
        for(int i = 0; i < 4 * at_once; ++i) {
            const int eight = 4 * first + i;
            const int64 own = eight < 16 ? offset_[0] : offset_[runs - 1];
            const int64 offset = of_lane(thread_, eight % 16 * 2 + id_ % 32 / 16, own);
            if(offset != kNone && first_channel_ + channel < args_.n)
                thread_.global_store(target + offset, thread_.template lds_load<Vec<int32, 4>>(
                                                          lds_ + PlaneWords::offset(row + 16 * i, slot)));
        }
        if constexpr(Lines > at_once)
            put_lines<Lines - at_once>(first + at_once, acc + line_columns / 2 * at_once);
    }

    const platform::Thread& thread_;
    const Args& args_;
    const conv::BwdDataUnits& units_;
    const Tile& tile_;
    int id_, lds_;  // of the thread, and of the warpgroup
    int first_channel_;
    int64 offset_[runs];  // of the warpgroup's first channel at the positions that the lane computes
};

}  // namespace ckgen::epilogue
