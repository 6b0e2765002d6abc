// Copied by ckgen from templates/include/ckgen/epilogue/wgmma_input_store.hpp. Do not edit; run: ckgen generate
// The epilogue of wgmma kernels of backward data: applies the function to each sum and the D tensors and stores the
// results. Each warp transposes its accumulators (epilogue/wgmma_store.hpp) through its own shared memory so that it
// stores whole 128-byte lines: the cache accepts no more half lines than whole lines per cycle. With c_vector 1 rows of
// the input begin anywhere, and a lane stores 8 or 4 bytes at once, or single results if rows begin elsewhere.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/epilogue/fused_lines.hpp"
#include "ckgen/epilogue/lane_exchange.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::epilogue {

// Writes the results of one thread of the math role.
template <class D>
class WgmmaInputStore {
    static constexpr int ndim = D::kernel_ndim;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;
    using Place = InputPlace<ndim>;
    static constexpr bool narrow = D::c_vector == 1;
    static constexpr int word_columns = 4 / static_cast<int>(sizeof(In));

public:
    static constexpr int line_columns = 128 / static_cast<int>(sizeof(In));
    static constexpr int blocks_at_once = line_columns / 8;  // blocks of 8 columns per put()
    using Line = atom::SwizzledTile<float, 16, 32>;          // 128 bytes of a warp's 16 rows
    static constexpr int line_bytes = Line::bytes;
    static constexpr int most_lines = min_of(D::n_per_block, 128) / 64;
    static constexpr int lds_bytes = most_lines * line_bytes;  // per warp

    // `id` counts the threads that have the tile's rows; `lds` is the address of the warp's memory. Lane i % 16
    // computes the address of the warp's row i.
    CKGEN_DEVICE WgmmaInputStore(const platform::Thread& thread, const Args& args, const conv::BwdDataUnits& units,
                                 const Tile& tile, int id, int lds)
        : thread_(thread), args_(args), lane_(id % 32), lds_(lds),
          columns_(min_of(args.n - tile.n_first, D::n_per_block)) {
        const int row = tile.m_first + id / 32 * 16 + lane_ % 16;
        const bool there = row < tile.rows;
        any_ = tile.m_first < tile.rows;
        own_ = place_of(tile, walk_of_row(units, tile, there ? row : 0));
        own_.channel = tile.n_first;
        own_offset_ = there ? input_offset<D>(own_, args.in) : kNone;
        if constexpr(narrow) {
            const auto begins_at = [&](int bytes) {
                return thread.ballot(there && reinterpret_cast<uintptr_t>(target_of(own_offset_)) % bytes != 0) == 0;
            };
            begin_ = begins_at(8) ? 8 : begins_at(4) ? 4 : 0;
        }
        if constexpr(D::d_tensors == 0 && !narrow) {
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                offset_[i] = offset_of_row(lane_ / 8 + 4 * i);
        }
    }

    // Prefetches the elements of D tensors that the store reads. Each lane prefetches half of a row's channels.
    static CKGEN_DEVICE void prefetch(const Args& args, const conv::BwdDataUnits& units, const Tile& tile, int id) {
        if constexpr(D::d_tensors > 0) {
            const int row = tile.m_first + id / 32 * 16 + id % 16;
            if(row < tile.rows) {
                Place at = place_of(tile, walk_of_row(units, tile, row));
                const int first = id % 32 / 16 * (D::n_per_block / 2);
                at.channel = tile.n_first + first;
                FusedLines<typename D::DsDataType, typename D::DsLayout>::fetch(
                    args.d, at, min_of(D::n_per_block / 2, args.n - at.channel), args.n);
            }
        }
    }

    // `acc`: half a line's columns as floats per line, from column line_columns * first on. All lanes take part.
    template <int Lines = 1>
    CKGEN_DEVICE void put(int first, const float* acc) const {
        constexpr int at_once = min_of(Lines, sizeof(In) == 4 ? 1 : most_lines);  // two lines of f32 spill registers
        if constexpr(D::d_tensors == 0) {
            put_lines<at_once>(first, acc);
        } else {
            if(any_)
                put_fused<at_once>(line_columns * first, acc);
        }
        if constexpr(Lines > at_once)
            put<Lines - at_once>(first + at_once, acc + line_columns / 2 * at_once);
    }
    // `acc`: 4 floats, of the 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        const int column = 8 * block + lane_ % 4 * 2;
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            const int row = lane_ / 4 + 8 * half;
            const int64 offset = offset_of_row(row);
            const Place at = place_of_row(row);
            constexpr int width = narrow ? 1 : 2;
            CKGEN_UNROLL
            for(int i = 0; i < 2; i += width)
                if(offset != kNone && column + i < columns_)
                    write<width>(at, offset, column + i, &acc[2 * half + i]);
        }
    }

private:
    static constexpr int64 kNone = -1;  // for a row past the last

    CKGEN_DEVICE In* target_of(int64 offset) const { return reinterpret_cast<In*>(args_.target) + offset; }

    CKGEN_DEVICE int64 offset_of_row(int row) const { return of_lane(thread_, row, own_offset_); }
    CKGEN_DEVICE Place place_of_row(int row) const {
        Place at = own_;
        at.image = of_lane(thread_, row, own_.image);
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            at.position[d] = of_lane(thread_, row, own_.position[d]);
        return at;
    }

    // Without D tensors the results are transposed as they are stored. The swizzle puts the same slot of eight rows,
    // and all slots of a row, into different banks.
    template <int Lines>
    CKGEN_DEVICE void put_lines(int first, const float* acc) const {
        platform::sync_warp();  // what the warp put there before has been read
        transpose<Lines>(acc);
        platform::sync_warp();
        if constexpr(!narrow)
            put_slots<Lines>(first);
        else if(begin_ == 8)
            put_words<Lines, 2 * word_columns>(line_columns * first);
        else
            put_words<Lines, word_columns>(line_columns * first);
    }
    template <int Lines>
    CKGEN_DEVICE void put_slots(int first) const {
        constexpr int slot = 16 / static_cast<int>(sizeof(In));  // columns
        Vec<int32, 4> slots[Lines][4];
        CKGEN_UNROLL
        for(int line = 0; line < Lines; ++line)
            CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            slots[line][i] = thread_.template lds_load<Vec<int32, 4>>(lds_ + line * line_bytes +
                                                                      offset_of(lane_ / 8 + 4 * i, lane_ % 8));
        In* const target = target_of(line_columns * first + lane_ % 8 * slot);
        const int left = columns_ - (line_columns * first + lane_ % 8 * slot);
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            CKGEN_UNROLL
        for(int line = 0; line < Lines; ++line)
            if(offset_[i] != kNone && line_columns * line < left)
                thread_.global_store(target + offset_[i] + line_columns * line, slots[line][i]);
    }
    // Stores lines of results, from column `column` on, Columns of them at once. Lanes have the words of one row after
    // the other: rows that follow each other in memory fill its lines.
    template <int Lines, int Columns>
    CKGEN_DEVICE void put_words(int column) const {
        using Word = Vec<In, Columns>;
        constexpr int bytes = Columns * static_cast<int>(sizeof(In)), at_once = 16 / bytes;
        CKGEN_UNROLL
        for(int line = 0; line < Lines; ++line) {
            const int first_column = column + line_columns * line;
            const int left = min_of(columns_ - first_column, line_columns);
            if(left <= 0)
                break;
            const int words = ceil_div(left, Columns);
            const uint32 inverse = 65536u / static_cast<uint32>(words) + 1;  // exact for 16 * words
            for(int first = 0; first < 16 * words; first += 32 * at_once) {
                Word value[at_once];
                int64 offset[at_once];
                int own[at_once];
                CKGEN_UNROLL
                for(int i = 0; i < at_once; ++i) {
                    const int number = first + 32 * i + lane_;
                    const int row = min_of(static_cast<int>(static_cast<uint32>(number) * inverse >> 16), 15);
                    const int word = number - row * words;
                    own[i] = Columns * word;
                    offset[i] = offset_of_row(row);
                    offset[i] = number < 16 * words ? offset[i] : kNone;
                    const int byte = word * bytes % 128;
                    value[i] = thread_.template lds_load<Word>(lds_ + line * line_bytes + offset_of(row, byte / 16) +
                                                               byte % 16);
                }
                CKGEN_UNROLL
                for(int i = 0; i < at_once; ++i)
                    if(offset[i] != kNone)
                        put_word(target_of(offset[i]) + first_column + own[i], value[i], left - own[i]);
            }
        }
    }
    // Stores a word of results, or those of its first `left` that exist.
    template <int Columns>
    CKGEN_DEVICE void put_word(In* target, const Vec<In, Columns>& word, int left) const {
        if(begin_ != 0 && left >= Columns) {
            thread_.global_store(target, word);
            return;
        }
        CKGEN_UNROLL
        for(int i = 0; i < Columns; ++i)
            if(i < left)
                thread_.global_store(target + i, Vec<In, 1>{word[i]});
    }
    // Byte of a slot of 16 bytes in a line of results.
    static CKGEN_DEVICE int offset_of(int row, int slot) {
        return sizeof(In) == 4 ? offset_of_sum(row, slot) : Line::offset(row, slot);
    }
    // The same for f32 sums. Their swizzle puts two slots of four rows, and four slots of two rows, into different
    // banks.
    static CKGEN_DEVICE int offset_of_sum(int row, int slot) {
        return row * 128 + (slot ^ (row << 1 & 7) ^ (row & 1)) * 16;
    }
    // Puts lines of results into the warp's memory.
    template <int Lines>
    CKGEN_DEVICE void transpose(const float* acc) const {
        const FusedInputs<1, Tuple<>, Tuple<>> none(thread_, args_.d, own_);
        if constexpr(sizeof(In) == 4) {
            CKGEN_UNROLL
            for(int line = 0; line < Lines; ++line) {
                float results[16];
                CKGEN_UNROLL
                for(int i = 0; i < 16; ++i)
                    results[i] = none.apply(args_.function, 0, acc[16 * line + i]);
                put_sums(line, results);
            }
        } else {
            CKGEN_UNROLL
            for(int pair = 0; pair < 4 * Lines; ++pair) {
                uint32 words[4];  // two blocks: the upper and the lower eight rows of each
                CKGEN_UNROLL
                for(int i = 0; i < 4; ++i)
                    words[i] = __builtin_bit_cast(
                        uint32,
                        Vec<In, 2>{Convert<In>::from(none.apply(args_.function, 0, acc[8 * pair + 2 * i])),
                                   Convert<In>::from(none.apply(args_.function, 0, acc[8 * pair + 2 * i + 1]))});
                platform::store_matrices(
                    thread_, lds_ + pair / 4 * line_bytes + Line::offset(lane_ % 16, pair % 4 * 2 + lane_ / 16), words);
            }
        }
    }

    // With D tensors the f32 sums of 32 columns are transposed, after all loads of D are issued. A thread reads the D
    // elements of the results that it stores; outside the tensor it reads those of the tile's first column.
    template <int Lines>
    CKGEN_DEVICE void put_fused(int column, const float* acc) const {
        const int own_column = lane_ % 4 * 8;
        constexpr int parts = Lines * line_columns / 32;
        constexpr int width = narrow ? 1 : 16 / static_cast<int>(sizeof(In));
        FusedInputsOf<D, width> inputs[parts][2][8 / width];
        int64 offset[2];
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            offset[half] = offset_of_row(lane_ / 4 + 8 * half);
            Place at = place_of_row(lane_ / 4 + 8 * half);
            CKGEN_UNROLL
            for(int i = 0; i < parts * 8 / width; ++i) {
                const int part = i / (8 / width);
                const int run = i % (8 / width);
                const int at_column = column + 32 * part + own_column + run * width;
                at.channel = own_.channel + (at_column < columns_ ? at_column : 0);
                inputs[part][half][run] = FusedInputsOf<D, width>(thread_, args_.d, at);
            }
        }
        CKGEN_UNROLL
        for(int part = 0; part < parts; ++part) {
            transpose_sums(acc + 16 * part);
            CKGEN_UNROLL
            for(int half = 0; half < 2; ++half) {
                CKGEN_UNROLL
                for(int run = 0; run < 8 / width; ++run) {
                    float sums[width];
                    read_sums(half, run * width, sums);
                    const int at_column = column + 32 * part + own_column + run * width;
                    if(offset[half] != kNone && at_column < columns_)
                        write_fused<D>(thread_, args_.function, inputs[part][half][run],
                                       target_of(offset[half]) + at_column, sums);
                }
            }
        }
    }

    // Writes the f32 sums of 32 columns, 16 per lane, to the warp's memory after all lanes have read its previous sums.
    CKGEN_DEVICE void transpose_sums(const float* acc) const {
        platform::sync_warp();
        put_sums(0, acc);
        platform::sync_warp();
    }
    // Puts f32 values of 32 columns, 16 per lane, into a line of the warp's memory.
    CKGEN_DEVICE void put_sums(int line, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 8; ++i)
            thread_.lds_store(lds_ + line * line_bytes +
                                  offset_of_sum(lane_ / 4 + i % 2 * 8, i / 2 * 2 + lane_ % 4 / 2) + lane_ % 2 * 8,
                              Vec<float, 2>{acc[2 * i], acc[2 * i + 1]});
    }
    // Reads adjacent sums of the lane's eight in the upper or lower half of the 16 rows, from the one with index
    // `first` of these on.
    template <int Width>
    CKGEN_DEVICE void read_sums(int half, int first, float (&sums)[Width]) const {
        constexpr int at_once = min_of(Width, 4);
        CKGEN_UNROLL
        for(int i = 0; i < Width; i += at_once) {
            const auto part = thread_.template lds_load<Vec<float, at_once>>(
                lds_ + offset_of_sum(lane_ / 4 + 8 * half, lane_ % 4 * 2 + (first + i) / 4) + (first + i) % 4 * 4);
            CKGEN_UNROLL
            for(int e = 0; e < at_once; ++e)
                sums[i + e] = part[e];
        }
    }

    template <int Width>
    CKGEN_DEVICE void write(Place at, int64 offset, int column, const float* acc) const {
        float sums[Width];
        CKGEN_UNROLL
        for(int i = 0; i < Width; ++i)
            sums[i] = acc[i];
        at.channel += column;
        write_fused<D>(thread_, args_, at, offset + column, sums);
    }

    const platform::Thread& thread_;
    const Args& args_;
    int lane_, lds_;
    int32 columns_;  // channels of the input, from the tile's first on
    Place own_;      // at the tile's first channel
    int64 own_offset_;
    bool any_;         // true if any row of the tile is in the result
    int begin_ = 0;    // the warp's rows begin at multiples of so many bytes, 0 if at any
    int64 offset_[4];  // of the rows whose lines the thread writes
};

}  // namespace ckgen::epilogue
