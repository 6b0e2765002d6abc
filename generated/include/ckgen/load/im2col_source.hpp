// Copied by ckgen from templates/include/ckgen/load/im2col_source.hpp. Do not edit; run: ckgen generate
// The input of a convolution as a matrix in im2col order, without a copy: rows are output positions, columns are taps
// and channels.
//
// The input address of a row, and the taps that see padding there, are the same for all threads that load from the row.
// A wave therefore keeps a table of the rows that its threads load in the next tiles, one row per lane, and computes
// them all at once. Each thread gathers its few rows from the other lanes. Per row this leaves an addition, and a mark
// if this thread's tap sees padding.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::conv {

// A step of `rows` rows of GEMM-K: per dimension, the step of the position (output index * stride) and of the offset in
// bytes.
template <int NDim>
struct ImageStep {
    int32 position[NDim];
    int64 bytes;

    CKGEN_DEVICE ImageStep(const platform::Thread& thread, const BwdWeightArgs& args, int rows) {
        bytes = 0;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            const int next = thread.uniform(rows / args.out_length[d]);
            position[d] = (rows - next * args.out_length[d]) * args.stride[d];
            bytes += position[d] * args.in_stride_bytes[d];
            rows = next;
        }
        bytes += rows * args.in_image_bytes;
    }
};

// A moving output position and its place in the input. Per dimension, `position` is output index * stride; `offset` is
// the number of bytes from the group's first element to the one under tap 0 without padding. A 32-bit Offset counts
// modulo 2^32. A step takes a few additions and selects.
template <int NDim, class Offset>
struct ImageCursor {
    int32 position[NDim];
    Offset offset;

    ImageCursor() = default;
    CKGEN_DEVICE ImageCursor(const BwdWeightArgs& args, int row) {
        int64 bytes = 0;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            const int next = row / args.out_length[d];
            position[d] = (row - next * args.out_length[d]) * args.stride[d];
            bytes += position[d] * args.in_stride_bytes[d];
            row = next;
        }
        offset = static_cast<Offset>(bytes + row * args.in_image_bytes);
    }

    // Moves to the next row.
    CKGEN_DEVICE void next(const BwdWeightArgs& args) {
        constexpr int last = NDim - 1;
        position[last] += args.stride[last];
        offset += static_cast<Offset>(args.stride[last] * args.in_stride_bytes[last]);
        CKGEN_UNROLL
        for(int d = last; d >= 0; --d)
            carry(args, d);
    }
    CKGEN_DEVICE void advance(const BwdWeightArgs& args, const ImageStep<NDim>& step) {
        offset += static_cast<Offset>(step.bytes);
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            position[d] += step.position[d];
            carry(args, d);
        }
    }

private:
    // Continues in the next index of the dimension before d if d is at its end.
    CKGEN_DEVICE void carry(const BwdWeightArgs& args, int d) {
        const bool over = position[d] >= args.limit[d];
        position[d] -= over ? args.limit[d] : 0;
        offset += over ? static_cast<Offset>(args.wrap_bytes[d]) : Offset{0};
        if(d > 0)
            position[d - 1] += over ? args.stride[d - 1] : 0;
    }
};

// The shift of a tap relative to a cursor's position.
template <int NDim>
struct Tap {
    int32 shift[NDim];

    Tap() = default;
    CKGEN_DEVICE Tap(const BwdWeightArgs& args, int tap) {
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            const int next = tap / args.filter[d];
            shift[d] = (tap - next * args.filter[d]) * args.dilation[d] - args.pad[d];
            tap = next;
        }
    }
    CKGEN_DEVICE void advance(const BwdWeightArgs& args) {
        bool carry = true;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            shift[d] += carry ? args.dilation[d] : 0;
            carry = shift[d] + args.pad[d] >= args.filter[d] * args.dilation[d];
            shift[d] = carry ? -args.pad[d] : shift[d];
        }
    }
    template <class Offset>
    CKGEN_DEVICE bool sees_padding(const BwdWeightArgs& args, const ImageCursor<NDim, Offset>& cursor) const {
        bool outside = false;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            outside = outside |
                      (static_cast<uint32>(cursor.position[d] + shift[d]) >= static_cast<uint32>(args.in_length[d]));
        return outside;
    }
    // Bytes from the element under tap 0 without padding to the one under this tap, modulo 2^32.
    CKGEN_DEVICE uint32 offset(const BwdWeightArgs& args) const {
        uint32 bytes = 0;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            bytes += static_cast<uint32>(shift[d]) * static_cast<uint32>(args.in_stride_bytes[d]);
        return bytes;
    }
};

// The row of GEMM-K in each lane of a wave's table. Threads that load the same rows form a group of neighbouring lanes:
// first the group's rows of one tile, slice by slice, then those of the next. Where a tile has more rows than the group
// has lanes, a wave keeps several tables, which together hold one tile.
template <class Copy>
struct RowTable {
    static constexpr int lanes = min_of(platform::kExchangeLanes, Copy::wave_size);
    static constexpr int tile_rows = Copy::row_slices * Copy::rows;
    static constexpr int group_lanes = min_of(32, lanes / Copy::wave_groups);  // their padding marks fit a register
    static constexpr int tiles = max_of(1, group_lanes / tile_rows);
    static constexpr int tables = ceil_div(tile_rows, group_lanes);
    static constexpr bool ahead = tile_rows <= 4;  // gather rows one tile ahead where that takes few registers

    static CKGEN_HD constexpr int first_lane(int id) { return Copy::group_of(id) * group_lanes; }
    // Row of this thread's lane in a table, counted from the first row of the first tile.
    static CKGEN_HD constexpr int row_of_lane(int id, int table = 0) {
        const int entry = id % lanes % group_lanes + table * group_lanes;
        return entry / tile_rows * Copy::k_per_block + Copy::wave_row(id) +
               entry / Copy::rows % Copy::row_slices * Copy::slice_rows + id % lanes / group_lanes * Copy::rows +
               entry % Copy::rows;
    }
};

// The order of columns: channels are faster than taps, which makes vectors of them if channels are contiguous in the
// input. In a K-major operand columns may have any order, and take that of the weight.
template <class D>
struct ColumnOrder {
    static constexpr bool k_major = D::b_k_major;
    static constexpr bool taps_fastest = D::b_k_major && !D::c_channels_last;
    // With few channels a tile has many taps: padding is found for each coordinate of taps instead of for each tap.
    static constexpr bool taps_by_dimension = kExchanges<D>;
};

template <class Copy, int NDim, class Order>
class Im2colSource {
public:
    // `base`: the group's first element. `channels`: those of merged groups that exist.
    CKGEN_DEVICE Im2colSource(const platform::Thread& thread, int id, const BwdWeightArgs& args, const char* base,
                              int first_row, int first_column, int channels)
        : args_(args), base_(base), window_(base, 0), tiles_(min_of(Table::tiles, args.k_tiles_per_chunk)),
          step_(thread, args, tiles_ * Copy::k_per_block), first_(args, thread.uniform(first_row)),
          row_(args, first_row + Table::row_of_lane(id)),
          first_tap_number_(first_tap_number(thread, args, first_column)), first_tap_(args, first_tap_number_),
          lane_(Table::first_lane(id)) {
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            first_tap_.shift[d] = thread.uniform(first_tap_.shift[d]);
        CKGEN_UNROLL
        for(int table = 1; table < Table::tables; ++table)
            other(table).row = ImageCursor<NDim, uint32>(args, first_row + Table::row_of_lane(id, table));
        const int last_column = min_of(first_column + Copy::Layout::columns, args.n) - 1;
        taps_ = Order::taps_fastest ? min_of(args.n / args.c, last_column - first_column + 1)
                                    : thread.uniform(last_column / args.c) - first_tap_number_ + 1;
        CKGEN_UNROLL
        for(int i = 0; i < Copy::thread_columns; ++i)
            set_column(args, i, first_column + Copy::column_of(id, i), channels);
        fill(thread, args);
        if constexpr(Table::ahead)
            gather(thread);
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) {
        if constexpr(!Table::ahead)
            gather(thread);
        CKGEN_UNROLL
        for(int column = 0; column < Copy::thread_columns; ++column)
            CKGEN_UNROLL
        for(int slice = 0; slice < Copy::row_slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row) {
            const int i = slice * Copy::rows + row;
            const uint32 padding =
                i < Table::group_lanes ? padding_[column] : other(i / Table::group_lanes).padding[column];
            const uint32 mark = (padding << (31 - i % Table::group_lanes)) & platform::kInvalidOffset;
            Copy::fetch(thread, window_, (static_cast<uint32>(rows_[i]) + column_offset_[column]) | mark, registers,
                        column + slice, row);
        }
    }
    CKGEN_DEVICE void advance(const platform::Thread& thread) {
        if(--tiles_left_ == 0) {
            const BwdWeightArgs& args = thread.reload_kernel_args(args_);
            first_.advance(args, step_);
            row_.advance(args, step_);
            CKGEN_UNROLL
            for(int table = 1; table < Table::tables; ++table)
                other(table).row.advance(args, step_);
            fill(thread, args);
        } else {
            next_ += Table::tile_rows;
            CKGEN_UNROLL
            for(int column = 0; column < Copy::thread_columns; ++column)
                padding_[column] = Table::tile_rows < 32 ? padding_[column] >> Table::tile_rows % 32 : 0;
        }
        if constexpr(Table::ahead)
            gather(thread);
    }

private:
    using Table = RowTable<Copy>;
    static constexpr int kNoTap = -1;

    // A lane's part of a table after the first. An array would cost registers.
    struct Entry {
        ImageCursor<NDim, uint32> row;
        uint64 marks[Copy::thread_columns];
        uint32 padding[Copy::thread_columns];
    };
    CKGEN_DEVICE Entry& other(int table) { return others_[table - 1]; }

    static CKGEN_DEVICE int first_tap_number(const platform::Thread& thread, const BwdWeightArgs& args, int column) {
        return thread.uniform(Order::taps_fastest ? column % (args.n / args.c) : column / args.c);
    }

    // Sets tap and channel of one of the thread's columns.
    CKGEN_DEVICE void set_column(const BwdWeightArgs& args, int i, int column, int channels) {
        const int taps = args.n / args.c;
        const int outer = column / (Order::taps_fastest ? taps : args.c);
        const int inner = column - outer * (Order::taps_fastest ? taps : args.c);
        const int tap = Order::taps_fastest ? inner : outer;
        const int channel = Order::taps_fastest ? outer : inner;
        const int channel_bytes = Order::k_major ? args.in_channel_bytes : static_cast<int>(sizeof(typename Copy::T));
        column_offset_[i] = Tap<NDim>(args, tap).offset(args) + static_cast<uint32>(channel * channel_bytes);
        if constexpr(Order::taps_by_dimension) {
            int rest = tap;
            CKGEN_UNROLL
            for(int d = NDim - 1; d >= 0; --d) {
                const int next = rest / args.filter[d];
                coordinate_[i][d] = rest - next * args.filter[d];
                rest = next;
            }
            tap_[i] = column < args.n ? tap : kNoTap;
            return;
        }
        tap_[i] = tap - first_tap_number_;
        if constexpr(Order::taps_fastest) {
            tap_[i] += tap_[i] < 0 ? taps : 0;
            tap_[i] = column < args.n ? tap_[i] : kNoTap;
        }
        if(channels != kAllChannels && channel >= channels)
            tap_[i] = kNoTap;
    }

    // Gathers this thread's rows of the next tile from the lanes that hold them.
    CKGEN_DEVICE void gather(const platform::Thread& thread) {
        if constexpr(Table::tables == 1) {
            thread.gather<Table::lanes>(static_cast<int32>(row_.offset), lane_ + next_, rows_);
        } else {
            CKGEN_UNROLL
            for(int table = 0; table < Table::tables; ++table) {
                int32 part[Table::group_lanes];
                thread.gather<Table::lanes>(static_cast<int32>((table == 0 ? row_ : other(table).row).offset), lane_,
                                            part);
                CKGEN_UNROLL
                for(int i = 0; i < Table::group_lanes; ++i)
                    if(table * Table::group_lanes + i < Table::tile_rows)
                        rows_[table * Table::group_lanes + i] = part[i];
            }
        }
    }

    // Computes the tables for the rows under the cursors.
    CKGEN_DEVICE void fill(const platform::Thread& thread, const BwdWeightArgs& args) {
        // The base is in_reach_bytes before the first row, where its taps begin, but not before the tensor.
        const int64 wanted = first_.offset - args.in_reach_bytes;
        const int64 skipped = wanted > 0 ? wanted : 0;
        window_ = platform::GlobalBuffer(base_ + skipped, window_bytes(args.in_extent_bytes - skipped));
        row_.offset -= static_cast<uint32>(skipped) - skipped_;
        CKGEN_UNROLL
        for(int table = 1; table < Table::tables; ++table)
            other(table).row.offset -= static_cast<uint32>(skipped) - skipped_;
        skipped_ = static_cast<uint32>(skipped);
        uint64 marks[Copy::thread_columns];
        if constexpr(Order::taps_by_dimension)
            mark_coordinates(thread, args, marks);
        else
            mark_taps(thread, args, marks);
        CKGEN_UNROLL
        for(int column = 0; column < Copy::thread_columns; ++column) {
            padding_[column] = static_cast<uint32>(marks[column] >> lane_);
            CKGEN_UNROLL
            for(int table = 1; table < Table::tables; ++table)
                other(table).padding[column] = static_cast<uint32>(other(table).marks[column] >> lane_);
        }
        next_ = 0;
        tiles_left_ = tiles_;
    }

    // Finds the padding of every tap of the tile.
    CKGEN_DEVICE void mark_taps(const platform::Thread& thread, const BwdWeightArgs& args,
                                uint64 (&marks)[Copy::thread_columns]) {
        CKGEN_UNROLL
        for(int column = 0; column < Copy::thread_columns; ++column) {
            marks[column] = ~uint64{0};  // after the last column: padding in every row
            CKGEN_UNROLL
            for(int table = 1; table < Table::tables; ++table)
                other(table).marks[column] = ~uint64{0};
        }
        Tap<NDim> tap = first_tap_;
        for(int i = 0; i < taps_; ++i) {
            mark(i, thread.ballot<Table::lanes>(tap.sees_padding(args, row_)), marks);
            CKGEN_UNROLL
            for(int table = 1; table < Table::tables; ++table)
                mark(i, thread.ballot<Table::lanes>(tap.sees_padding(args, other(table).row)), other(table).marks);
            tap.advance(args);
        }
    }

    // Finds the padding of every coordinate of a tap. A tap sees padding where one of its coordinates does.
    CKGEN_DEVICE void mark_coordinates(const platform::Thread& thread, const BwdWeightArgs& args,
                                       uint64 (&marks)[Copy::thread_columns]) {
        CKGEN_UNROLL
        for(int column = 0; column < Copy::thread_columns; ++column) {
            marks[column] = tap_[column] == kNoTap ? ~uint64{0} : 0;
            CKGEN_UNROLL
            for(int table = 1; table < Table::tables; ++table)
                other(table).marks[column] = marks[column];
        }
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            for(int x = 0; x < args.filter[d]; ++x) {
                const int shift = x * args.dilation[d] - args.pad[d];
                const auto find = [&](const ImageCursor<NDim, uint32>& row, uint64(&found)[Copy::thread_columns]) {
                    const bool outside =
                        static_cast<uint32>(row.position[d] + shift) >= static_cast<uint32>(args.in_length[d]);
                    const uint64 padding = thread.ballot<Table::lanes>(outside);
                    CKGEN_UNROLL
                    for(int column = 0; column < Copy::thread_columns; ++column)
                        found[column] |= x == coordinate_[column][d] ? padding : 0;
                };
                find(row_, marks);
                CKGEN_UNROLL
                for(int table = 1; table < Table::tables; ++table)
                    find(other(table).row, other(table).marks);
            }
    }

    // Keeps the padding of tap i, counted from the first, for the columns that have it.
    CKGEN_DEVICE void mark(int i, uint64 padding, uint64 (&marks)[Copy::thread_columns]) const {
        CKGEN_UNROLL
        for(int column = 0; column < Copy::thread_columns; ++column)
            marks[column] = i == tap_[column] ? padding : marks[column];
    }

    const BwdWeightArgs& args_;
    const char* base_;
    platform::GlobalBuffer window_;
    int tiles_, tiles_left_ = 0;  // tiles per table, tiles left in it
    ImageStep<NDim> step_;
    ImageCursor<NDim, int64> first_;  // the first row of the table's first tile: the window begins there
    ImageCursor<NDim, uint32> row_;   // the row of this lane; its offset counts from the window's base
    uint32 skipped_ = 0;              // bytes before the window's base, modulo 2^32
    int first_tap_number_;
    int taps_;  // of this tile's columns
    Tap<NDim> first_tap_;
    // Taps of this thread's columns, counted from the first; kNoTap: none, all rows see padding.
    int tap_[Copy::thread_columns];
    int coordinate_[Copy::thread_columns][NDim];  // with Order::taps_by_dimension: of the taps
    int lane_;                                    // first lane of this thread's group
    uint32 column_offset_[Copy::thread_columns];  // of their taps and channels

    // Bit i: a column's tap sees padding in its row i, counted from the next tile.
    uint32 padding_[Copy::thread_columns] = {};
    int next_ = 0;                                // rows per thread before those of the next tile
    int32 rows_[Table::tile_rows];                // entries of the next tile
    Entry others_[max_of(1, Table::tables - 1)];  // tables after the first
};

}  // namespace ckgen::conv
