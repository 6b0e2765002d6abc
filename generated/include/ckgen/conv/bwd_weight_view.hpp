// Copied by ckgen from templates/include/ckgen/conv/bwd_weight_view.hpp. Do not edit; run: ckgen generate
// Convolution backward weight as a GEMM: where tile elements come from in dOut and In. Sources hand a TileCopy the byte
// offset of each row and column; what lies outside a tensor gets an offset past the window's end and reads as zero.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

// The part of the output this workgroup computes and its share of GEMM-K.
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
};

CKGEN_DEVICE uint32 window_bytes(int64 bytes) {
    const int64 limit = platform::kMaxWindowBytes;
    return static_cast<uint32>(bytes < 0 ? 0 : bytes > limit ? limit : bytes);
}

// Rows at a constant distance: dOut always, In for 1x1 stride 1 pad 0. Rows past GEMM-K lie past the window's end.
template <class Copy>
class LinearSource {
public:
    // `columns`: how many the matrix has; `base` and `extent_bytes`: this group's matrix.
    CKGEN_DEVICE LinearSource(int thread, const char* base, int64 extent_bytes, int row_bytes, int first_column,
                              int columns)
        : base_(base), extent_bytes_(extent_bytes), row_bytes_(row_bytes), window_(base, 0) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int column = first_column + Copy::column_of(thread, slice);
            thread_offset_[slice] =
                column < columns ? static_cast<uint32>(Copy::row_of(thread, slice) * row_bytes + column * element_bytes)
                                 : platform::kInvalidOffset;
        }
    }

    CKGEN_DEVICE void seek(int row) {
        const int64 skipped = static_cast<int64>(row) * row_bytes_;
        window_ = platform::GlobalBuffer(base_ + skipped, window_bytes(extent_bytes_ - skipped));
        offset_ = 0;
    }
    CKGEN_DEVICE void advance(int rows) { offset_ += static_cast<uint32>(rows * row_bytes_); }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            registers.data[slice][row] = window_.template load<typename Copy::GlobalVector>(
                thread, thread_offset_[slice] + (offset_ + static_cast<uint32>(row * row_bytes_)));
    }

private:
    static constexpr int element_bytes = sizeof(typename Copy::T);
    const char* base_;
    int64 extent_bytes_;
    int32 row_bytes_;
    platform::GlobalBuffer window_;
    uint32 offset_ = 0;
    uint32 thread_offset_[Copy::slices];
};

// One output position on its way through the input: for each dimension `position` is output index * stride, and
// `offset` the bytes from the window's base to the input element under tap 0 without padding, modulo 2^32. Moving on is
// a few additions and selects.
template <int NDim>
struct ImageCursor {
    int32 position[NDim];
    uint32 offset;

    // Goes to row `row` of GEMM-K; gives its byte offset from the group's first element.
    CKGEN_DEVICE int64 seek(const BwdWeightArgs& args, int row) {
        int64 bytes = 0;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            const int next = row / args.out_length[d];
            position[d] = (row - next * args.out_length[d]) * args.stride[d];
            bytes += position[d] * args.in_stride_bytes[d];
            row = next;
        }
        bytes += row * args.in_image_bytes;
        offset = static_cast<uint32>(bytes);
        return bytes;
    }

    CKGEN_DEVICE void carry(const BwdWeightArgs& args, int d) {
        const bool over = position[d] >= args.limit[d];
        position[d] -= over ? args.limit[d] : 0;
        offset += over ? args.wrap_bytes[d] : 0u;
        if(d > 0)
            position[d - 1] += over ? args.stride[d - 1] : 0;
    }
    CKGEN_DEVICE void next_row(const BwdWeightArgs& args) {
        position[NDim - 1] += args.stride[NDim - 1];
        offset += args.row_step_bytes;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d)
            carry(args, d);
    }
    CKGEN_DEVICE void next_tile(const BwdWeightArgs& args) {
        offset += args.tile_step_bytes;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            position[d] += args.tile_step[d];
            carry(args, d);
        }
    }
};

// Rows are output positions, columns taps and channels of the input (im2col without the copy).
template <class Copy, int NDim>
class Im2colSource {
public:
    CKGEN_DEVICE Im2colSource(int thread, const BwdWeightArgs& args, const char* base, int first_column)
        : args_(args), base_(base), window_(base, 0), thread_(thread) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            columns_[slice].seek(args, first_column + Copy::column_of(thread, slice));
    }

    CKGEN_DEVICE void seek(int row) {
        // The base lies as far before the first row as taps reach back, but not before the tensor.
        ImageCursor<NDim> first;
        const int64 wanted = first.seek(args_, row) - args_.in_reach_bytes;
        const int64 skipped = wanted > 0 ? wanted : 0;
        window_ = platform::GlobalBuffer(base_ + skipped, window_bytes(args_.in_extent_bytes - skipped));
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            rows_[slice].seek(args_, row + Copy::row_of(thread_, slice));
            rows_[slice].offset -= static_cast<uint32>(skipped);
        }
    }
    CKGEN_DEVICE void advance(int) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            rows_[slice].next_tile(args_);
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            ImageCursor<NDim> cursor = rows_[slice];
            CKGEN_UNROLL
            for(int row = 0; row < Copy::rows; ++row) {
                if(row > 0)
                    cursor.next_row(args_);
                registers.data[slice][row] = window_.template load<typename Copy::GlobalVector>(
                    thread, columns_[slice].offset_in(args_, cursor));
            }
        }
    }

private:
    // A tap and a channel: its shift against the cursor's position and its byte offset.
    struct Column {
        int32 shift[NDim];
        uint32 offset;

        CKGEN_DEVICE void seek(const BwdWeightArgs& args, int column) {
            int tap = column / args.c;
            offset = static_cast<uint32>((column - tap * args.c) * static_cast<int>(sizeof(typename Copy::T)));
            CKGEN_UNROLL
            for(int d = NDim - 1; d >= 0; --d) {
                const int next = tap / args.filter[d];
                shift[d] = (tap - next * args.filter[d]) * args.dilation[d] - args.pad[d];
                offset += static_cast<uint32>(shift[d]) * static_cast<uint32>(args.in_stride_bytes[d]);
                tap = next;
            }
            if(tap > 0)  // past the last column: no position is ever inside
                shift[0] = -0x40000000;
        }
        CKGEN_DEVICE uint32 offset_in(const BwdWeightArgs& args, const ImageCursor<NDim>& cursor) const {
            bool inside = true;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                inside = inside &
                         (static_cast<uint32>(cursor.position[d] + shift[d]) < static_cast<uint32>(args.in_length[d]));
            return inside ? cursor.offset + offset : platform::kInvalidOffset;
        }
    };

    const BwdWeightArgs& args_;
    const char* base_;
    platform::GlobalBuffer window_;
    int thread_;
    Column columns_[Copy::slices];
    ImageCursor<NDim> rows_[Copy::slices];
};

template <class Copy, int NDim, ConvSpec Spec>
struct InputSource : Im2colSource<Copy, NDim> {
    CKGEN_DEVICE InputSource(int thread, const BwdWeightArgs& args, const char* base, int first_column)
        : Im2colSource<Copy, NDim>(thread, args, base, first_column) {}
};
template <class Copy, int NDim>
struct InputSource<Copy, NDim, ConvSpec::Filter1x1Stride1Pad0> : LinearSource<Copy> {
    CKGEN_DEVICE InputSource(int thread, const BwdWeightArgs& args, const char* base, int first_column)
        : LinearSource<Copy>(thread, base, args.in_extent_bytes, args.in_row_bytes, first_column, args.n) {}
};

}  // namespace ckgen::conv
