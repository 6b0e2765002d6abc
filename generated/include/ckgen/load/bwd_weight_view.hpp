// Copied by ckgen from templates/include/ckgen/load/bwd_weight_view.hpp. Do not edit; run: ckgen generate
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

// The positions of a tensor whose channels are planes of contiguous positions.
struct Planes {
    int64 image_bytes;
    int32 row_bytes, channel_bytes;  // from one position, and from one channel, to the next
    int32 positions;                 // of an image
};

// Rows that are the positions of all images, of a K-major operand: dOut, or In for 1x1 stride 1 pad 0. A vector lies in
// one image. The base moves with the tile; a thread's rows are at a constant distance from it, except where one of the
// two has passed more ends of images than the other.
template <class Copy>
class PlaneSource {
public:
    // `base`: the group's first element. `rows`, `columns`: the size of the operand.
    CKGEN_DEVICE PlaneSource(const platform::Thread& thread, int id, const Planes& planes, const char* base, int rows,
                             int columns, int first_row, int first_column)
        : row_bytes_(planes.row_bytes), positions_(planes.positions),
          wrap_(planes.image_bytes - int64{planes.positions} * planes.row_bytes),
          rows_left_(rows - first_row - Copy::row_of(id)) {
        const int first_image = thread.uniform(first_row / positions_);
        first_position_ = first_row - first_image * positions_;
        base_ = base + first_image * planes.image_bytes + int64{first_position_} * row_bytes_ +
                int64{first_column} * planes.channel_bytes;
        const int images = thread.uniform(Copy::k_per_block / positions_);
        step_ = Copy::k_per_block - images * positions_;
        step_bytes_ = images * planes.image_bytes + int64{step_} * row_bytes_;
        const int row = first_position_ + Copy::row_of(id);
        const int ahead = row / positions_;
        position_ = row - ahead * positions_;
        offset_ = static_cast<uint32>(ahead) * static_cast<uint32>(planes.image_bytes) +
                  static_cast<uint32>(position_ - first_position_) * static_cast<uint32>(row_bytes_);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int column = Copy::column_of(id, slice);
            column_[slice] = first_column + column < columns ? static_cast<uint32>(column * planes.channel_bytes)
                                                             : platform::kInvalidOffset;
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(base_, window_size);
        uint32 offset = offset_;
        int position = position_;
        CKGEN_UNROLL
        for(int part = 0; part < Copy::parts; ++part) {
            const uint32 row = part * Copy::vector < rows_left_ ? offset : window_size;
            CKGEN_UNROLL
            for(int slice = 0; slice < Copy::slices; ++slice)
                Copy::fetch(thread, window, row + column_[slice], registers, slice, part);
            position += Copy::vector;
            offset += static_cast<uint32>(Copy::vector * row_bytes_);
            const bool over = position >= positions_;
            position -= over ? positions_ : 0;
            offset += over ? static_cast<uint32>(wrap_) : 0u;
        }
    }
    CKGEN_DEVICE void advance(const platform::Thread&) {
        first_position_ += step_;
        const bool first_over = first_position_ >= positions_;
        first_position_ -= first_over ? positions_ : 0;
        base_ += step_bytes_ + (first_over ? wrap_ : 0);
        position_ += step_;
        const bool over = position_ >= positions_;
        position_ -= over ? positions_ : 0;
        offset_ += over ? static_cast<uint32>(wrap_) : 0u;
        offset_ -= first_over ? static_cast<uint32>(wrap_) : 0u;
        rows_left_ -= Copy::k_per_block;
    }

protected:
    // The plan refuses tiles that reach further. A row past the last plus any column is outside: kInvalidOffset is
    // 2^31.
    static constexpr uint32 window_size = 1u << 30;

    const char* base_;      // of the tile's first row and column
    int32 row_bytes_;       // from one position to the next
    int32 positions_;       // of an image
    int64 wrap_;            // from the end of an image's plane to the same plane of the next image
    int32 rows_left_;       // from the thread's first row on
    int32 first_position_;  // of the tile's first row
    int32 step_;            // positions from one tile to the next, without whole images
    int64 step_bytes_;
    int32 position_;  // of the thread's first row
    uint32 offset_;   // and its distance from the base
    uint32 column_[Copy::slices];
};

inline constexpr int kAllChannels = -1;  // of the groups of a tile

// The rows or columns of a tensor's channels, given those of merged groups that exist.
CKGEN_DEVICE int existing(int channels, int all) { return channels == kAllChannels ? all : channels; }

// A: dOut of one group, or of merged groups. `channels`: those that exist.
template <class Copy, bool IsKMajor>
struct OutputSource : PlaneSource<Copy> {
    CKGEN_DEVICE OutputSource(const platform::Thread& thread, int id, const BwdWeightArgs& args, const char* base,
                              int first_row, int first_column, int channels)
        : PlaneSource<Copy>(thread, id,
                            {args.out_image_bytes, args.out_row_bytes, args.out_channel_bytes, args.out_positions},
                            base, args.k, existing(channels, args.m), first_row, first_column) {}
};
template <class Copy>
struct OutputSource<Copy, false> : LinearSource<Copy> {
    CKGEN_DEVICE OutputSource(const platform::Thread&, int id, const BwdWeightArgs& args, const char* base,
                              int first_row, int first_column, int channels)
        : LinearSource<Copy>(id, base, args.k, args.out_row_bytes, first_row, first_column,
                             existing(channels, args.m)) {}
};

}  // namespace ckgen::conv
