// Copied by ckgen from templates/include/ckgen/load/position_source.hpp. Do not edit; run: ckgen generate
// The output of backward data as operand A, and the position of a workgroup in GEMM-K.
#pragma once

#include "ckgen/block/tile_copy.hpp"
#include "ckgen/load/bwd_data_view.hpp"

namespace ckgen::conv {

// The position of a workgroup in GEMM-K, uniform in the workgroup: a tap (or several), and a chunk of its channels.
template <int NDim>
struct TapTiles {
    int chunk;
    Walk<NDim> tap;   // the first of a tile
    Walk<NDim> step;  // from the taps of a tile to those of the next

    // Clang keeps quotients in vector registers, and then all that depends on them.
    CKGEN_DEVICE TapTiles(const platform::Thread& thread, const BwdDataArgs& args, const BwdDataTile<NDim>& tile)
        : chunk(0) {
        int first = tile.k_tile_first * args.tile_taps;
        if(args.tile_taps == 1) {
            first = thread.uniform(tile.k_tile_first / args.k_chunks);
            chunk = tile.k_tile_first - first * args.k_chunks;
        }
        tap = uniform(thread, Walk<NDim>(tile.taps, first));
        step = uniform(thread, Walk<NDim>(tile.taps, args.tile_taps));
    }

private:
    static CKGEN_DEVICE Walk<NDim> uniform(const platform::Thread& thread, Walk<NDim> walk) {
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            walk.at[d] = thread.uniform(walk.at[d]);
        return walk;
    }
};

// The distance of the tap of a row from the tile's first one, in one register: a step of fewer taps than a tile has
// rows.
template <int NDim>
class TapsAhead {
    static constexpr int bits = 8;  // per dimension

public:
    TapsAhead() = default;
    CKGEN_DEVICE TapsAhead(const BwdDataTile<NDim>& tile, int number) {
        const Walk<NDim> step(tile.taps, number);
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            packed_ |= static_cast<uint32>(step.at[d]) << (d * bits);
    }
    // The tap of the row. In a tile of one tap this is uniform, so that the scalar unit computes what depends on it.
    template <bool OneTap>
    CKGEN_DEVICE Walk<NDim> tap(const BwdDataTile<NDim>& tile, const TapTiles<NDim>& taps) const {
        Walk<NDim> tap = taps.tap;
        if constexpr(!OneTap) {
            Walk<NDim> step;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                step.at[d] = static_cast<int32>(packed_ >> (d * bits) & ((1u << bits) - 1));
            tap.advance(tile.taps, step);
        }
        return tap;
    }

private:
    uint32 packed_ = 0;
};

// A base that is uniform in the wave, where the compiler does not see it: AMD's buffer loads would get a loop each.
CKGEN_DEVICE const char* uniform_base(const platform::Thread& thread, const char* base) {
    const uint64 bits = reinterpret_cast<uint64>(base);
    const uint32 low = static_cast<uint32>(thread.uniform(static_cast<int>(bits)));
    const uint32 high = static_cast<uint32>(thread.uniform(static_cast<int>(bits >> 32)));
    return reinterpret_cast<const char*>(uint64{high} << 32 | low);
}

// The first row of a slice in its tap: in a tile of one tap, that of slice 0 and a number that is the same for all
// threads, whose product the scalar unit computes.
template <class Copy, bool OneTap>
struct SliceRow {
    int thread, ahead;

    CKGEN_DEVICE SliceRow(const int (&rows)[Copy::slices], int slice)
        : thread(rows[OneTap ? 0 : slice]), ahead(OneTap ? slice * Copy::slice_rows : 0) {}
    CKGEN_DEVICE uint32 bytes(uint32 pitch) const {
        return static_cast<uint32>(thread) * pitch + static_cast<uint32>(ahead) * pitch;
    }
};

// A: dOut as a matrix of output positions by channels. A row belongs to an input position of the sub-GEMM; the tap
// determines its output position. Channels are contiguous.
template <class Copy, int NDim, int KPerBlock, bool IsKMajor>
class PositionSource {
public:
    CKGEN_DEVICE PositionSource(const platform::Thread&, int id, const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                                const TapTiles<NDim>& taps)
        : ahead_(tile, Copy::row_of(id) / args.tap_rows), end_(tile.taps[0]), row_(Copy::row_of(id) % args.tap_rows) {
        const Walk<NDim + 1> first(tile.count, tile.m_first);
        int64 offset = tile.group * args.out_group_bytes + first.at[0] * args.out_image_bytes - args.out_back_bytes;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            offset += (tile.origin[d] + first.at[d + 1]) * args.out_stride_bytes[d];
        base_ = args.out + offset + int64{taps.chunk} * chunk_bytes;
        Walk<NDim + 1> at(tile.count, tile.m_first + Copy::column_of(id, 0));
        const Walk<NDim + 1> step(tile.count, Copy::slice_columns);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            uint32 bytes = static_cast<uint32>(args.out_back_bytes) +
                           static_cast<uint32>(at.at[0] - first.at[0]) * static_cast<uint32>(args.out_image_bytes);
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d) {
                bytes +=
                    static_cast<uint32>(at.at[d + 1] - first.at[d + 1]) * static_cast<uint32>(args.out_stride_bytes[d]);
                position_[slice][d] = tile.origin[d] + at.at[d + 1];
            }
            position_[slice][0] = at.at[0] < args.images ? position_[slice][0] : kNowhere;
            row_bytes_[slice] = bytes;
            at.advance(tile.count, step);
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(base_, platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int part = 0; part < Copy::parts; ++part) {
            const uint32 offset = offset_[slice] + static_cast<uint32>(part * Copy::vector * k_bytes);
            const bool there = part == 0 || part * Copy::vector < left_;
            Copy::fetch(thread, window, there ? offset : platform::kInvalidOffset, registers, slice, part);
        }
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs&) { base_ += chunk_bytes; }
    // Goes back to the first of the `chunks` of a tap.
    CKGEN_DEVICE void next_tap(const BwdDataArgs&, int chunks) { base_ -= int64{chunks} * chunk_bytes; }

    // Computes the offsets for a tap, or the taps of a tile, and a chunk.
    template <bool OneTap, bool Merges>
    CKGEN_DEVICE void refresh(const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                              const TileChannels<Merges>& channels, const TapTiles<NDim>& taps) {
        const Walk<NDim> tap = ahead_.template tap<OneTap>(tile, taps);
        left_ = channels.k(args) - taps.chunk * KPerBlock - row_;
        const bool inside = tap.at[0] < end_ && left_ > 0;
        uint32 bytes = static_cast<uint32>(row_ * k_bytes);
        int back[NDim];
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            back[d] = args.shift[d] * tap.at[d];
            bytes -= static_cast<uint32>(back[d]) * static_cast<uint32>(args.out_stride_bytes[d]);
        }
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            bool seen = inside;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                seen = seen &
                       (static_cast<uint32>(position_[slice][d] - back[d]) < static_cast<uint32>(args.out_length[d]));
            offset_[slice] = seen ? row_bytes_[slice] + bytes : platform::kInvalidOffset;
        }
    }

private:
    static constexpr int k_bytes = sizeof(typename Copy::T);  // from one channel to the next
    static constexpr int chunk_bytes = KPerBlock * k_bytes;
    static constexpr int kNowhere = -(1 << 30);  // for rows past the last: outside the output under every tap
    TapsAhead<NDim> ahead_;
    int end_;       // number of taps in the first dimension
    int row_;       // row of GEMM-K in the tap
    int left_ = 0;  // rows of GEMM-K that the tap has from this thread's row on
    const char* base_;
    int32 position_[Copy::slices][NDim];  // the output position under tap 0
    uint32 row_bytes_[Copy::slices];      // its offset from the base
    uint32 offset_[Copy::slices];
};

// The same where positions are contiguous and channels are planes: a thread has one column, an output position or a
// vector of them, and rows of one tap per slice.
template <class Copy, int NDim, int KPerBlock>
class PlanePositionSource {
public:
    CKGEN_DEVICE PlanePositionSource(const platform::Thread& thread, int id, const BwdDataArgs& args,
                                     const BwdDataTile<NDim>& tile, const TapTiles<NDim>& taps) {
        const Walk<NDim + 1> first(tile.count, tile.m_first);
        const Walk<NDim + 1> at(tile.count, tile.m_first + Copy::column_of(id));
        int64 offset = tile.group * args.out_group_bytes + first.at[0] * args.out_image_bytes - args.out_back_bytes;
        column_bytes_ = static_cast<uint32>(args.out_back_bytes) +
                        static_cast<uint32>(at.at[0] - first.at[0]) * static_cast<uint32>(args.out_image_bytes);
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            offset += (tile.origin[d] + first.at[d + 1]) * args.out_stride_bytes[d];
            column_bytes_ +=
                static_cast<uint32>(at.at[d + 1] - first.at[d + 1]) * static_cast<uint32>(args.out_stride_bytes[d]);
            position_[d] = tile.origin[d] + at.at[d + 1];
        }
        base_ = uniform_base(thread, args.out + offset + taps.chunk * (int64{KPerBlock} * args.out_k_bytes));
        end_ = at.at[0] < args.images ? tile.taps[0] : 0;
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int row = Copy::row_of(id, slice);
            ahead_[slice] = TapsAhead<NDim>(tile, row / args.tap_rows);
            row_[slice] = row % args.tap_rows;
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(uniform_base(thread, base_), platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            Copy::fetch(thread, window, offset_[slice][row], registers, slice, row);
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs& args) { base_ += int64{KPerBlock} * args.out_k_bytes; }
    CKGEN_DEVICE void next_tap(const BwdDataArgs& args, int chunks) {
        base_ -= chunks * (int64{KPerBlock} * args.out_k_bytes);
    }

    template <bool OneTap, bool Merges>
    CKGEN_DEVICE void refresh(const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                              const TileChannels<Merges>& channels, const TapTiles<NDim>& taps) {
        const int left = channels.k(args) - taps.chunk * KPerBlock;
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const Walk<NDim> tap = ahead_[slice].template tap<OneTap>(tile, taps);
            uint32 back_bytes = 0;
            bool seen = tap.at[0] < end_;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d) {
                const int back = args.shift[d] * tap.at[d];
                back_bytes += static_cast<uint32>(back) * static_cast<uint32>(args.out_stride_bytes[d]);
                seen = seen & (static_cast<uint32>(position_[d] - back) < static_cast<uint32>(args.out_length[d]));
            }
            set_offsets<OneTap>(args, slice, column_bytes_ - back_bytes, seen ? left : 0);
        }
    }

protected:
    // Sets the offsets of a slice: `bytes` is that of the column's position in channel 0 of the tile, `rows` the number
    // of the tap's rows that exist.
    template <bool OneTap>
    CKGEN_DEVICE void set_offsets(const BwdDataArgs& args, int slice, uint32 bytes, int rows) {
        const uint32 pitch = static_cast<uint32>(args.out_k_bytes);
        const SliceRow<Copy, OneTap> first(row_, slice);
        bytes += first.bytes(pitch);
        CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            offset_[slice][row] = first.thread + first.ahead + row < rows ? bytes + static_cast<uint32>(row) * pitch
                                                                          : platform::kInvalidOffset;
    }

    const char* base_;
    uint32 column_bytes_;   // of the output position under tap 0, from the base
    int32 position_[NDim];  // that position
    int end_;               // number of taps in the first dimension; 0 for a thread past the last row
    TapsAhead<NDim> ahead_[Copy::slices];
    int row_[Copy::slices];  // row of GEMM-K in the tap
    uint32 offset_[Copy::slices][Copy::rows];
};

template <class Copy, int NDim, int KPerBlock>
class PositionSource<Copy, NDim, KPerBlock, false> : public PlanePositionSource<Copy, NDim, KPerBlock> {
public:
    using PlanePositionSource<Copy, NDim, KPerBlock>::PlanePositionSource;
};

}  // namespace ckgen::conv
