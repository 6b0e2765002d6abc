// Copied by ckgen from templates/include/ckgen/epilogue/bwd_data_store.hpp. Do not edit; run: ckgen generate
// Stores lines of the tile as elements of the input gradient, or as partials of them. Also writes the positions
// that no tap reaches.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/load/bwd_data_view.hpp"

namespace ckgen::epilogue {

// The input position of a row of the tile.
template <int NDim>
CKGEN_DEVICE InputPlace<NDim> place_of(const conv::BwdDataTile<NDim>& tile, const conv::Walk<NDim + 1>& row) {
    InputPlace<NDim> at;
    at.group = tile.group;
    at.image = row.at[0];
    CKGEN_UNROLL
    for(int d = 0; d < NDim; ++d)
        at.position[d] = tile.start[d] + tile.step[d] * row.at[d + 1];
    return at;
}

// The image and position of a row of a persistent kernel's tile, as the tile counts them.
template <int NDim>
CKGEN_DEVICE conv::Walk<NDim + 1> walk_of_row(const conv::BwdDataUnits& units, const conv::BwdDataTile<NDim>& tile,
                                              int row) {
    if(tile.without_taps)
        return {tile.count, row};
    return {tile.count, units.sub_gemms[tile.sub_gemm].by, row};
}

// Shape: a ShuffleShape. take() is called for all passes in order.
template <class D, class Shape>
class BwdDataStore {
    static constexpr int ndim = D::kernel_ndim;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;
    using Rows = conv::Walk<ndim + 1>;
    using Sum = typename D::Accumulator;

public:
    CKGEN_DEVICE BwdDataStore(const platform::Thread& thread, int math_id, const Args& args, const Tile& tile)
        : args_(thread.reload_kernel_args(args)), tile_(tile),
          strides_(args_.partial == nullptr ? args_.in : args_.partial_strides),
          step_(tile.count, Shape::Map::rows_per_chunk) {
        CKGEN_UNROLL
        for(int round = 0; round < Shape::rounds; ++round) {
            const int index = round * D::block_size + math_id;
            const int line = D::c_m_major ? line_of(index) : index / Shape::line_vectors;
            const int column = D::c_m_major ? index / run % D::n_per_block : index % Shape::line_vectors * D::c_vector;
            rows_[round] = Rows(tile.count, tile.m_first + Shape::row_of_line(0, line));
            line_[round] = line;
            byte_[round] = thread.pin(Shape::byte_of(line, column));
            const bool there = (Shape::whole_rounds || index < Shape::vectors) && tile.n_first + column < channels();
            channel_[round] = thread.pin(there ? tile.n_first + column : kNone);
        }
    }

    // A thread's row in the next pass belongs to the same wave, rows_per_chunk further where rows are in order.
    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass) {
        CKGEN_UNROLL
        for(int round = 0; round < Shape::rounds; ++round) {
            if constexpr(!Shape::in_order)
                rows_[round] = Rows(tile_.count, tile_.m_first + Shape::row_of_line(pass, line_[round]));
            if(channel_[round] != kNone && rows_[round].at[0] < args_.images) {
                InputPlace<ndim> at = place_of(tile_, rows_[round]);
                at.channel = channel_[round];
                if(D::row_vector == 1 || at.position[ndim - 1] < args_.in_length[ndim - 1])
                    write(thread, at, rows_[round], base + byte_[round]);
            }
            if constexpr(Shape::in_order)
                rows_[round].advance(tile_.count, step_);
        }
    }

private:
    // Partials have all channels of merged groups, even of those past the last.
    CKGEN_DEVICE int channels() const {
        if constexpr(kMergesGroups<D>)
            return args_.partial == nullptr ? conv::TileChannels<true>(args_, tile_).n(args_) : args_.n;
        else
            return args_.n;
    }

    static constexpr int kNone = -1;  // past the last channel or line
    // Where positions are contiguous, a vector is c_vector lines of one column. Threads take the vectors of one chunk
    // of a wave first, which are neighbouring positions, then columns, then the next wave's chunk.
    static constexpr int run = D::c_m_major ? Shape::Map::rows_per_chunk / D::c_vector : 1;
    static CKGEN_DEVICE int line_of(int index) {
        return (index / (run * D::n_per_block) * run + index % run) * D::c_vector;
    }

    CKGEN_DEVICE void write(const platform::Thread& thread, const InputPlace<ndim>& at, const Rows& row,
                            int byte) const {
        Sum sums[D::c_vector];
        CKGEN_UNROLL
        for(int e = 0; e < D::c_vector; ++e)
            sums[e] = D::c_m_major ? Shape::value_below(thread, byte, e) : Shape::value(thread, byte, e);
        const int64 offset = input_offset<D>(at, strides_);
        if(args_.partial == nullptr) {
            if constexpr(D::c_m_major)
                write_positions(thread, at.channel, row, offset, sums);
            else
                write_fused<D>(thread, args_, at, offset, sums);
            return;
        }
        Sum* target = reinterpret_cast<Sum*>(args_.partial) + tile_.split * args_.partial_elements + offset;
        constexpr int width = min_of(D::c_vector, 4);
        CKGEN_UNROLL
        for(int first = 0; first < D::c_vector; first += width) {
            Vec<Sum, width> values;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e] = sums[first + e];
            thread.global_store(target + first, values);
        }
    }

    // Writes the function of neighbouring positions of a channel, from `row` on.
    CKGEN_DEVICE void write_positions(const platform::Thread& thread, int channel, Rows row, int64 offset,
                                      const Sum (&sums)[D::c_vector]) const {
        using In = typename D::In;
        Rows next{};
        next.at[ndim] = 1;
        Vec<In, D::c_vector> results;
        CKGEN_UNROLL
        for(int e = 0; e < D::c_vector; ++e) {
            InputPlace<ndim> at = place_of(tile_, row);
            at.channel = channel;
            const FusedInputsOf<D, 1> inputs(thread, args_.d, at);
            results[e] = Convert<In>::from(inputs.apply(args_.function, 0, static_cast<float>(sums[e])));
            row.advance(tile_.count, next);
        }
        thread.global_store(reinterpret_cast<In*>(args_.target) + offset, results);
    }

    const Args& args_;
    const Tile& tile_;
    const conv::InputStrides strides_;  // of the target
    Rows step_;                         // from one pass to the next
    Rows rows_[Shape::rounds];
    int line_[Shape::rounds];
    int channel_[Shape::rounds];
    int byte_[Shape::rounds];
};

// Handles tiles without a product; returns false for all others. Positions without a tap are written as the function of
// zero; a tile past a sub-GEMM's last row writes nothing.
template <class D>
CKGEN_DEVICE bool fill(const platform::Thread& thread, const typename D::KernelArgs& all_args,
                       const conv::BwdDataTile<D::kernel_ndim>& tile) {
    constexpr int ndim = D::kernel_ndim;
    constexpr int width = D::c_m_major ? 1 : D::c_vector;  // neighbouring channels of a thread
    constexpr int vectors = D::n_per_block / width;
    if(!tile.without_taps)
        return tile.m_first >= tile.rows;
    const typename D::KernelArgs& args = thread.reload_kernel_args(all_args);
    const conv::TileChannels<kMergesGroups<D>> channels(args, tile);
    for(int index = thread.thread_id(); index < D::m_per_block * vectors; index += D::launch_threads) {
        const int row = D::c_m_major ? index % D::m_per_block : index / vectors;
        const int column = D::c_m_major ? index / D::m_per_block : index % vectors;
        InputPlace<ndim> at = place_of(tile, conv::Walk<ndim + 1>(tile.count, tile.m_first + row));
        at.channel = tile.n_first + column * width;
        bool tapped = true;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            tapped = tapped & (conv::class_of(args, d, at.position[d]) >= 0);
        const typename D::Accumulator zeros[width] = {};
        if(!tapped && at.image < args.images && at.channel < channels.n(args))
            write_fused<D>(thread, args, at, input_offset<D>(at, args.in), zeros);
    }
    return true;
}

}  // namespace ckgen::epilogue
