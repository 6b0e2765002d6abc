// Loads of backward data: brings the tiles of both operands from global memory through registers to an LDS stage.
//
// A tile of GEMM-K is a part of one tap's channels, or several taps where channels are few. For A, a thread loads
// channels of some output positions under one tap or, where positions are contiguous, some positions of several
// channels; for B, rows of the weight, of one tap per slice. Byte offsets are
// recomputed only where the tap changes or its channels end, so that the loop adds only a tile's length to two bases.
// Elements outside a tensor get an offset past the end of every window.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/load/operand_in_lds.hpp"

namespace ckgen::conv {

template <class D>
struct BwdDataLayouts {
    using InLdsA =
        OperandInLds<D, D::m_per_block, D::a_vector, D::a_pad, D::a_dst_vector, D::a_slices, D::a_copy_threads,
                     typename D::ComputeA, kTileWay<D, D::m_per_block, D::a_vector, D::a_copy_threads, D::a_k_major>>;
    using InLdsB = OperandInLds<D, D::n_per_block, D::b_vector, D::b_pad, D::b_dst_vector, D::b_slices,
                                D::b_copy_threads, typename D::ComputeB>;
    using A = typename InLdsA::Layout;
    using B = typename InLdsB::Layout;
    static constexpr int b_offset = D::k_per_block / D::k1 * A::plane_bytes;  // B follows A in a stage
    static_assert(b_offset + D::k_per_block / D::k1 * B::plane_bytes == D::lds_stage_bytes, "a stage is A then B");
};

// The position of a workgroup in GEMM-K, uniform in the workgroup: a tap (or several), and a chunk of its channels.
template <int NDim>
struct TapTiles {
    int first_tap, chunk;
    Walk<NDim> step;  // from the taps of a tile to those of the next

    CKGEN_DEVICE TapTiles(const BwdDataArgs& args, const BwdDataTile<NDim>& tile)
        : first_tap(tile.k_tile_first * args.tile_taps), chunk(0), step(tile.taps, args.tile_taps) {
        if(args.tile_taps == 1) {
            first_tap = tile.k_tile_first / args.k_chunks;
            chunk = tile.k_tile_first - first_tap * args.k_chunks;
        }
    }
};

// A base that is uniform in the wave, where the compiler does not see it: AMD's buffer loads would get a loop each.
CKGEN_DEVICE const char* uniform_base(const platform::Thread& thread, const char* base) {
    const uint64 bits = reinterpret_cast<uint64>(base);
    const uint32 low = static_cast<uint32>(thread.uniform(static_cast<int>(bits)));
    const uint32 high = static_cast<uint32>(thread.uniform(static_cast<int>(bits >> 32)));
    return reinterpret_cast<const char*>(uint64{high} << 32 | low);
}

// A: dOut as a matrix of output positions by channels. A row belongs to an input position of the sub-GEMM; the tap
// determines its output position. Channels are contiguous.
template <class Copy, int NDim, int KPerBlock, bool IsKMajor>
class PositionSource {
public:
    CKGEN_DEVICE PositionSource(int id, const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                                const TapTiles<NDim>& taps)
        : tap_(tile.taps, taps.first_tap + Copy::row_of(id) / args.tap_rows), end_(tile.taps[0]),
          row_(Copy::row_of(id) % args.tap_rows) {
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
            registers.data[slice][part] =
                window.template load<typename Copy::GlobalVector>(thread, there ? offset : platform::kInvalidOffset);
        }
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs&) { base_ += chunk_bytes; }
    // Goes to the first of the `chunks` of the next taps; a step of zero keeps the tap.
    CKGEN_DEVICE void next_tap(const BwdDataArgs&, const BwdDataTile<NDim>& tile, const Walk<NDim>& step, int chunks) {
        base_ -= int64{chunks} * chunk_bytes;
        tap_.advance(tile.taps, step);
    }

    // Computes the offsets for the next tap and chunk.
    CKGEN_DEVICE void refresh(const BwdDataArgs& args, int chunk) {
        left_ = args.k - chunk * KPerBlock - row_;
        const bool inside = tap_.at[0] < end_ && left_ > 0;
        uint32 bytes = static_cast<uint32>(row_ * k_bytes);
        int back[NDim];
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            back[d] = args.shift[d] * tap_.at[d];
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
    Walk<NDim> tap_;
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
class PositionSource<Copy, NDim, KPerBlock, false> {
public:
    CKGEN_DEVICE PositionSource(int id, const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                                const TapTiles<NDim>& taps) {
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
        base_ = args.out + offset + taps.chunk * (int64{KPerBlock} * args.out_k_bytes);
        end_ = at.at[0] < args.images ? tile.taps[0] : 0;
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int row = Copy::row_of(id, slice);
            tap_[slice] = Walk<NDim>(tile.taps, taps.first_tap + row / args.tap_rows);
            row_[slice] = row % args.tap_rows;
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(uniform_base(thread, base_), platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            registers.data[slice][row] =
                block::load_vector<typename Copy::GlobalVector>(thread, window, offset_[slice][row]);
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs& args) { base_ += int64{KPerBlock} * args.out_k_bytes; }
    CKGEN_DEVICE void next_tap(const BwdDataArgs& args, const BwdDataTile<NDim>& tile, const Walk<NDim>& step,
                               int chunks) {
        base_ -= chunks * (int64{KPerBlock} * args.out_k_bytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            tap_[slice].advance(tile.taps, step);
    }

    CKGEN_DEVICE void refresh(const BwdDataArgs& args, int chunk) {
        const int left = args.k - chunk * KPerBlock;
        const uint32 pitch = static_cast<uint32>(args.out_k_bytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            uint32 bytes = column_bytes_ + static_cast<uint32>(row_[slice]) * pitch;
            bool seen = tap_[slice].at[0] < end_;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d) {
                const int back = args.shift[d] * tap_[slice].at[d];
                bytes -= static_cast<uint32>(back) * static_cast<uint32>(args.out_stride_bytes[d]);
                seen = seen & (static_cast<uint32>(position_[d] - back) < static_cast<uint32>(args.out_length[d]));
            }
            const int there = seen ? left - row_[slice] : 0;
            CKGEN_UNROLL
            for(int row = 0; row < Copy::rows; ++row)
                offset_[slice][row] = row < there ? bytes + static_cast<uint32>(row) * pitch : platform::kInvalidOffset;
        }
    }

private:
    const char* base_;
    uint32 column_bytes_;   // of the output position under tap 0, from the base
    int32 position_[NDim];  // that position
    int end_;               // number of taps in the first dimension; 0 for a thread past the last row
    Walk<NDim> tap_[Copy::slices];
    int row_[Copy::slices];  // row of GEMM-K in the tap
    uint32 offset_[Copy::slices][Copy::rows];
};

// B: the weight as a matrix of taps and output channels by input channels. ChannelsLast: input channels are contiguous.
// Uniform: the compiler does not see that the base is uniform.
template <class Copy, int NDim, int KPerBlock, bool ChannelsLast, bool Uniform>
class WeightSource {
    static_assert(ChannelsLast || Copy::column_vector == 1, "several channels at once lie side by side");

public:
    CKGEN_DEVICE WeightSource(int id, const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                              const TapTiles<NDim>& taps) {
        int64 offset = tile.group * args.wei_group_bytes + tile.n_first * c_bytes(args);
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            offset += tile.first[d] * args.wei_stride_bytes[d];
        base_ = args.wei + offset + taps.chunk * (KPerBlock * args.wei_k_bytes);
        column_bytes_ = Copy::column_of(id) * c_bytes(args);
        end_ = tile.n_first + Copy::column_of(id) < args.n ? tile.taps[0] : 0;
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int row = Copy::row_of(id, slice);
            tap_[slice] = Walk<NDim>(tile.taps, taps.first_tap + row / args.tap_rows);
            row_[slice] = row % args.tap_rows;
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(Uniform ? uniform_base(thread, base_) : base_, platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            registers.data[slice][row] =
                block::load_vector<typename Copy::GlobalVector>(thread, window, offset_[slice][row]);
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs& args) { base_ += KPerBlock * args.wei_k_bytes; }
    CKGEN_DEVICE void next_tap(const BwdDataArgs& args, const BwdDataTile<NDim>& tile, const Walk<NDim>& step,
                               int chunks) {
        base_ -= chunks * (KPerBlock * args.wei_k_bytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            tap_[slice].advance(tile.taps, step);
    }

    CKGEN_DEVICE void refresh(const BwdDataArgs& args, int chunk) {
        const int left = args.k - chunk * KPerBlock;
        const uint32 pitch = static_cast<uint32>(args.wei_k_bytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            uint32 bytes = static_cast<uint32>(column_bytes_) + static_cast<uint32>(row_[slice]) * pitch;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                bytes += static_cast<uint32>(tap_[slice].at[d] * args.tilde[d]) *
                         static_cast<uint32>(args.wei_stride_bytes[d]);
            const int there = tap_[slice].at[0] < end_ ? left - row_[slice] : 0;
            CKGEN_UNROLL
            for(int row = 0; row < Copy::rows; ++row)
                offset_[slice][row] = row < there ? bytes + static_cast<uint32>(row) * pitch : platform::kInvalidOffset;
        }
    }

private:
    // Bytes from one input channel to the next.
    static CKGEN_DEVICE int c_bytes(const BwdDataArgs& args) {
        return ChannelsLast ? static_cast<int>(sizeof(typename Copy::T)) : args.wei_c_bytes;
    }

    const char* base_;
    int column_bytes_;
    int end_;  // number of taps in the first dimension; 0 for a thread past the last column
    Walk<NDim> tap_[Copy::slices];
    int row_[Copy::slices];  // row of GEMM-K in the tap
    uint32 offset_[Copy::slices][Copy::rows];
};

template <class D>
class BwdDataLoader {
    static constexpr int ndim = D::kernel_ndim;
    static constexpr int k_per_block = D::k_per_block;

public:
    using Layouts = BwdDataLayouts<D>;
    using T = typename D::Out;
    static constexpr bool direct = false;
    using CopyA = typename Layouts::InLdsA::Copy;
    using CopyB = typename Layouts::InLdsB::Copy;
    struct Registers {
        typename CopyA::Registers a;
        typename CopyB::Registers b;
    };

    CKGEN_DEVICE BwdDataLoader(const platform::Thread&, int id, const BwdDataArgs& args, const BwdDataTile<ndim>& tile)
        : id_(id), args_(args), tile_(tile), taps_(args, tile), a_(id, args, tile, taps_), b_(id, args, tile, taps_) {
        refresh(args);
    }

    // Starts the loads of the next tile. store() waits for their values.
    CKGEN_DEVICE void load(const platform::Thread& thread, Registers& registers) {
        a_.load(thread, registers.a);
        b_.load(thread, registers.b);
        const BwdDataArgs& args = thread.reload_kernel_args(args_);
        a_.next_chunk(args);
        b_.next_chunk(args);
        ++taps_.chunk;
        if(taps_.chunk == change_) {
            // At the tap's last chunk if that is partial, else after it.
            const bool over = taps_.chunk == args.k_chunks;
            Walk<ndim> step;
            CKGEN_UNROLL
            for(int d = 0; d < ndim; ++d)
                step.at[d] = over ? taps_.step.at[d] : 0;
            const int chunks = over ? taps_.chunk : 0;
            taps_.chunk -= chunks;
            a_.next_tap(args, tile_, step, chunks);
            b_.next_tap(args, tile_, step, chunks);
            refresh(args);
        }
    }

    CKGEN_DEVICE void store(const platform::Thread& thread, int stage, const Registers& registers) const {
        const int base = stage * D::lds_stage_bytes;
        CopyA::store(thread, base, id_, registers.a);
        CopyB::store(thread, base + Layouts::b_offset, id_, registers.b);
    }

private:
    CKGEN_DEVICE void refresh(const BwdDataArgs& args) {
        a_.refresh(args, taps_.chunk);
        b_.refresh(args, taps_.chunk);
        const int whole = args.k / k_per_block;
        change_ = taps_.chunk < whole ? whole : args.k_chunks;
    }

    int id_;
    const BwdDataArgs& args_;
    const BwdDataTile<ndim>& tile_;
    TapTiles<ndim> taps_;
    int change_ = 0;  // the chunk at which offsets are recomputed
    PositionSource<CopyA, ndim, k_per_block, D::a_k_major> a_;
    WeightSource<CopyB, ndim, k_per_block, D::b_channels_last || D::pointwise, D::c_m_major>
        b_;  // one tap: channels are contiguous
};

}  // namespace ckgen::conv
