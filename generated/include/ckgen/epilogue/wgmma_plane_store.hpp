// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_plane_store.hpp. Do not edit; run: ckgen generate
// The epilogue of wgmma kernels of backward data whose results have neighbouring positions side by side: applies the
// function to each sum and stores the results. The four warps of a warpgroup have 64 neighbouring positions. They
// transpose their accumulators through shared memory, so that eight lanes store 128 bytes of a channel. With D tensors
// they store single elements. Of 32-bit types, the positions have the order of atom/plane_fragments.hpp. With single
// elements as vectors, images may have any number of positions; then a warp stores 64 positions of a channel at once.
#pragma once

#include "ckgen/epilogue/plane_lines.hpp"
#include "ckgen/load/plane_block.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::epilogue {

// Writes the results of one thread of the math role.
template <class D>
class WgmmaPlaneStore : public PlaneLines<D, WgmmaPlaneStore<D>> {
    using Base = PlaneLines<D, WgmmaPlaneStore<D>>;
    friend Base;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<1>;
    static constexpr bool wide = sizeof(In) == 4;
    static constexpr bool any = D::c_vector == 1;

public:
    using Base::blocks_at_once, Base::column_rows, Base::line_columns, Base::most_lines, Base::row_positions;

    // `id` counts the threads that have the tile's rows; `lds` is the address of the warp's memory, beside that of the
    // other warps of the warpgroup.
    CKGEN_DEVICE WgmmaPlaneStore(const platform::Thread& thread, const Args& args, const conv::BwdDataUnits& units,
                                 const Tile& tile, int id, int lds)
        : thread_(thread), args_(args), id_(id % 128), lds_(lds - id_ / 32 * Base::lds_bytes),
          columns_(min_of(args.n - tile.n_first, D::n_per_block)) {
        const conv::PlaneBlock block(units, tile, tile.m_first + id / 128 * conv::PlaneBlock::rows);
        first_ = {tile.group, block.image, tile.n_first, {block.position}};
        positions_ = block.first_positions(args);
        if constexpr(any) {
            positions_ = min_of(positions_, conv::PlaneBlock::rows);
            split_ = block.split;
            second_positions_ = block.second_positions(args);
        }
    }
    // `acc`: 4 floats, of the 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            const int row = wide ? atom::PlaneRows::position(id_, i / 2) : atom::WgmmaAccumulator::row(id_, i);
            const int column = 8 * block + atom::WgmmaAccumulator::column(id_, i);
            const bool second = any && row >= split_;
            if((second ? row - split_ < second_positions_ : row < positions_) && column < columns_) {
                InputPlace<1> at = second ? next_image() : first_;
                at.channel += column;
                at.position[0] += second ? row - split_ : row;
                write_fused<D>(thread_, args_, at, input_offset<D>(at, args_.in), {acc[i]});
            }
        }
    }

private:
    template <int Lines>
    CKGEN_DEVICE void put_lines(int first, const float* acc) const {
        constexpr int at_once = min_of(Lines, most_lines);
        const int barrier = thread_.uniform(thread_.thread_id() / 128);
        platform::barrier_of(barrier, 128);  // what the warpgroup put there before has been read
        constexpr int blocks = blocks_at_once * at_once;
        if constexpr(wide) {
            PlaneWords::put<blocks>(thread_, lds_, id_, acc, [this](float sum) { return result(sum); });
        } else {
            CKGEN_UNROLL
            for(int pair = 0; pair < blocks / 2; ++pair)
                put_pairs(pair, acc + 8 * pair);
        }
        platform::barrier_of(barrier, 128);
        if constexpr(any)
            store_words<at_once>(first);
        else
            store_slots<at_once>(first);
        if constexpr(Lines > at_once)
            put_lines<Lines - at_once>(first + at_once, acc + line_columns / 2 * at_once);
    }
    template <int Lines>
    CKGEN_DEVICE void store_slots(int first) const {
        const int row = id_ / 8, slot = id_ % 8;  // 16 rows at once
        const int lds = lds_ + offset(row, slot);
        const int column = line_columns * first + row / column_rows;
        const int position = row % column_rows * row_positions + slot * (16 / static_cast<int>(sizeof(In)));
        // In bytes: with pointers to elements, nvcc 13.0 splits each store into four of 4 bytes.
        const int64 channel_bytes = args_.in.channel * static_cast<int64>(sizeof(In));
        char* target = args_.target + (input_offset<D>(first_, args_.in) + position) * static_cast<int64>(sizeof(In)) +
                       column * channel_bytes;
        CKGEN_UNROLL
        for(int i = 0; i < 4 * Lines; ++i) {
            if(position < positions_ && column + i * (16 / column_rows) < columns_)
                thread_.global_store(target, thread_.template lds_load<Vec<int32, 4>>(lds + i * 16 * 128));
            target += 16 / column_rows * channel_bytes;
        }
    }
    // A lane has two neighbouring positions of an image. Where the rows of channels begin between words, it stores its
    // second position and the next lane's first. A warp has every fourth channel, whose rows begin alike.
    template <int Lines>
    CKGEN_DEVICE void store_words(int first) const {
        const int lane = id_ % 32, position = 2 * lane;
        const bool second = position >= split_;
        const int in_image = second ? position - split_ : position;
        const int left = (second ? second_positions_ : positions_) - in_image;
        const int column = line_columns * first + id_ / 32;
        const int64 step = 4 * args_.in.channel * static_cast<int64>(sizeof(In));
        char* const target =
            args_.target + column * (step / 4) +
            (input_offset<D>(second ? next_image() : first_, args_.in) + in_image) * static_cast<int64>(sizeof(In));
        const bool begins = lane == 0 || position == split_;  // the part of the rows that is in the image
        if(reinterpret_cast<uintptr_t>(target) % 4 != 0)
            store_columns<Lines, true>(target, step, column, lane, left, begins);
        else
            store_columns<Lines, false>(target, step, column, lane, left, left == 1);
    }
    // `single`: the lane also stores its first position alone.
    template <int Lines, bool Between>
    CKGEN_DEVICE void store_columns(char* target, int64 step, int column, int lane, int left, bool single) const {
        constexpr int at_once = 8;
        const bool pair = left > (Between ? 2 : 1);
        CKGEN_UNROLL
        for(int i = 0; i < 16 * Lines; i += at_once) {
            uint32 words[at_once], next[at_once] = {};
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j) {
                const int row = (i + j) * 4 + id_ / 32;
                words[j] = thread_.template lds_load<uint32>(lds_ + word_offset(row, lane));
                if(Between && pair)
                    next[j] = thread_.template lds_load<uint32>(lds_ + word_offset(row, lane + 1));
            }
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j) {
                const bool there = column < columns_;
                const auto high = static_cast<uint16>(words[j] >> 16);
                if(there && pair)
                    thread_.global_store(target + (Between ? 2 : 0), Between ? uint32{high} | next[j] << 16 : words[j]);
                if(there && single && left > 0)
                    thread_.global_store(target, static_cast<uint16>(words[j]));
                if(Between && there && left == 2)
                    thread_.global_store(target + 2, high);
                column += 4;
                target += step;
            }
        }
    }
    // The first position of the image after the first one.
    CKGEN_DEVICE InputPlace<1> next_image() const {
        InputPlace<1> at = first_;
        ++at.image;
        at.position[0] = 0;
        return at;
    }
    static CKGEN_HD constexpr int word_offset(int row, int word) { return offset(row, word / 4) + word % 4 * 4; }
    CKGEN_DEVICE In result(float sum) const {
        const FusedInputs<1, Tuple<>, Tuple<>> none(thread_, args_.d, InputPlace<1>{});
        return Convert<In>::from(none.apply(args_.function, 0, sum));
    }
    // Byte of a slot of 16 bytes within the line.
    static CKGEN_HD constexpr int offset(int row, int slot) {
        return wide ? PlaneWords::offset(row, slot) : atom::SwizzledRows<half_t, 64>::offset(row, slot);
    }
    // Puts the results of 16 columns into shared memory.
    CKGEN_DEVICE void put_pairs(int pair, const float* acc) const {
        uint32 words[4];  // two blocks of 8 columns: the upper and the lower eight positions of each
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            words[i] = __builtin_bit_cast(uint32, Vec<In, 2>{result(acc[2 * i]), result(acc[2 * i + 1])});
        const int column = 16 * pair + id_ % 32 / 16 * 8 + id_ % 8;
        const int slot = id_ / 32 * 2 + id_ / 8 % 2;
        platform::store_matrices<true>(thread_, lds_ + offset(column, slot), words);
    }

    const platform::Thread& thread_;
    const Args& args_;
    int id_, lds_;               // of the thread, and of the warpgroup
    int32 columns_, positions_;  // channels of the input and positions of the image, from the warpgroup's first on
    InputPlace<1> first_;        // those
    int32 split_ = 64, second_positions_ = 0;  // rows from split_ on are these positions of the next image
};

}  // namespace ckgen::epilogue
