// Convolution backward weight as a GEMM: addresses of tile elements in dOut and In. Sources fill a TileCopy's
// registers. Elements outside a tensor get an offset past the window's end and read as zero.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

// The part of the weight that this workgroup computes, and its share of GEMM-K.
struct BwdWeightTile {
    int m_first, n_first, group, split;
    int k_tile_first, k_tiles;

    template <class D>
    static CKGEN_DEVICE BwdWeightTile of_block(const BwdWeightArgs& args, uint32 block) {
        BwdWeightTile tile;
        tile.m_first = static_cast<int>(block % static_cast<uint32>(args.m_tiles)) * D::m_per_block;
        block /= static_cast<uint32>(args.m_tiles);
        tile.n_first = static_cast<int>(block % static_cast<uint32>(args.n_tiles)) * D::n_per_block;
        block /= static_cast<uint32>(args.n_tiles);
        tile.group = static_cast<int>(block % static_cast<uint32>(args.group_tiles)) * args.groups_per_block;
        tile.split = static_cast<int>(block / static_cast<uint32>(args.group_tiles));
        tile.k_tile_first = tile.split * args.k_tiles_per_split;
        const int left = args.k_tiles - tile.k_tile_first;
        tile.k_tiles = left < args.k_tiles_per_split ? (left > 0 ? left : 0) : args.k_tiles_per_split;
        return tile;
    }

    // One unit of args.schedule, for persistent kernels.
    template <class D>
    static CKGEN_DEVICE BwdWeightTile of_unit(const BwdWeightArgs& args, int unit) {
        const TileSchedule& schedule = args.schedule;
        const bool direct = unit < schedule.data_parallel_tiles;
        const int split = direct ? 0 : (unit - schedule.data_parallel_tiles) / schedule.stream_k_tiles;
        // Blocks count all tiles of one split, then those of the next.
        BwdWeightTile tile = of_block<D>(args, static_cast<uint32>(unit + split * schedule.data_parallel_tiles));
        if(direct)
            tile.k_tiles = args.k_tiles;
        return tile;
    }
};

CKGEN_DEVICE uint32 window_bytes(int64 bytes) {
    const int64 limit = platform::kMaxWindowBytes;
    return static_cast<uint32>(bytes < 0 ? 0 : bytes > limit ? limit : bytes);
}

// Rows at a constant distance: dOut always, In for 1x1 stride 1 pad 0. The window covers one tile and moves with it, so
// a thread's offsets never change and a tile costs scalar instructions only. Rows after the last lie past the window's
// end.
template <class Copy>
class LinearSource {
public:
    // `base` and `rows`: the matrix of this group, from row `first_row` on. `columns`: its number of columns.
    CKGEN_DEVICE LinearSource(int id, const char* base, int rows, int row_bytes, int first_row, int first_column,
                              int columns)
        : base_(base + static_cast<int64>(first_row) * row_bytes), rows_left_(rows - first_row), row_bytes_(row_bytes) {
        const int column = first_column + Copy::column_of(id);
        offset_ = column < columns ? static_cast<uint32>(Copy::row_of(id, 0) * row_bytes + column * element_bytes)
                                   : platform::kInvalidOffset;
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const int bytes = rows_left_ >= Copy::k_per_block ? Copy::k_per_block * row_bytes_
                          : rows_left_ > 0                ? rows_left_ * row_bytes_
                                                          : 0;
        const platform::GlobalBuffer window(base_, static_cast<uint32>(bytes));
        // One register per row for its offset, except for narrow accesses, which have too many rows.
        const int row_bytes = Copy::slices * Copy::rows <= 4 ? row_bytes_ : thread.rematerialize(row_bytes_);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            Copy::fetch(thread, window, offset_ + static_cast<uint32>((slice * Copy::slice_rows + row) * row_bytes),
                        registers, slice, row);
    }
    CKGEN_DEVICE void advance(const platform::Thread&) {
        base_ += Copy::k_per_block * row_bytes_;
        rows_left_ -= Copy::k_per_block;
    }

private:
    static constexpr int element_bytes = sizeof(typename Copy::T);
    const char* base_;
    int32 rows_left_;
    int32 row_bytes_;
    uint32 offset_;  // of the thread's first row and column in a tile
};

// dOut where channels are not last: rows of one image are at a constant distance, and so are columns. The window begins
// at the first row of a tile.
template <class Copy>
class PlaneSource {
    static_assert(Copy::column_vector == 1, "several channels at once lie side by side");

public:
    CKGEN_DEVICE PlaneSource(int id, const BwdWeightArgs& args, const char* base, int first_row, int first_column)
        : args_(args), base_(base + static_cast<int64>(first_column) * args.out_channel_bytes), first_row_(first_row),
          thread_row_(Copy::row_of(id, 0)), column_bytes_(Copy::column_of(id) * args.out_channel_bytes),
          rows_(first_column + Copy::column_of(id) < args.m ? args.k : 0) {}

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const int image = first_row_ / args_.out_positions;
        const int position = first_row_ - image * args_.out_positions;
        const platform::GlobalBuffer window(base_ + image * args_.out_image_bytes +
                                                static_cast<int64>(position) * args_.out_row_bytes,
                                            platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row) {
            const int at = thread_row_ + slice * Copy::slice_rows + row;
            const int ahead = (position + at) / args_.out_positions;  // images
            const int along = at - ahead * args_.out_positions;       // positions; may be negative
            const uint32 offset = static_cast<uint32>(column_bytes_) +
                                  static_cast<uint32>(ahead) * static_cast<uint32>(args_.out_image_bytes) +
                                  static_cast<uint32>(along) * static_cast<uint32>(args_.out_row_bytes);
            Copy::fetch(thread, window, first_row_ + at < rows_ ? offset : platform::kInvalidOffset, registers, slice,
                        row);
        }
    }
    CKGEN_DEVICE void advance(const platform::Thread&) { first_row_ += Copy::k_per_block; }

private:
    const BwdWeightArgs& args_;
    const char* base_;  // of the group's first image, at the tile's first column
    int first_row_;     // of the next tile
    int thread_row_;
    int column_bytes_;
    int rows_;  // GEMM-K; 0 for a thread past the last column
};

inline constexpr int kAllChannels = -1;  // of the groups of a tile

// A: dOut of one group, or of merged groups. `channels`: those that exist.
template <class Copy, bool ChannelsLast>
struct OutputSource : PlaneSource<Copy> {
    CKGEN_DEVICE OutputSource(int id, const BwdWeightArgs& args, const char* base, int first_row, int first_column, int)
        : PlaneSource<Copy>(id, args, base, first_row, first_column) {}
};
template <class Copy>
struct OutputSource<Copy, true> : LinearSource<Copy> {
    CKGEN_DEVICE OutputSource(int id, const BwdWeightArgs& args, const char* base, int first_row, int first_column,
                              int channels)
        : LinearSource<Copy>(id, base, args.k, args.out_row_bytes, first_row, first_column,
                             channels == kAllChannels ? args.m : channels) {}
};

}  // namespace ckgen::conv
