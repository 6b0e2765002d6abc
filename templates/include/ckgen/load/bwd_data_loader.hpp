// Loads of backward data: brings the tiles of both operands from global memory to an LDS stage, through registers or
// directly.
//
// A tile of GEMM-K is a part of one tap's channels, or several taps where channels are few. For A, a thread loads
// channels of some output positions under one tap or, where positions are contiguous, some positions of several
// channels; for B, rows of the weight, of one tap per slice. Byte offsets are
// recomputed only where the tap changes or its channels end, so that the loop adds only a tile's length to two bases.
// Elements outside a tensor get an offset past the end of every window.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/config/optional_keys.hpp"
#include "ckgen/load/operand_in_lds.hpp"
#include "ckgen/load/row_position_source.hpp"

namespace ckgen::conv {

template <class D>
inline constexpr bool kDirectBwdData =
    D::a_k_major && !kMergesGroups<D> && D::a_copy_threads == D::copy_threads && D::b_copy_threads == D::copy_threads &&
    kDirectSlots<D, D::m_per_block, D::a_vector> &&
    kDirectOperand<D, D::n_per_block, D::b_vector, D::b_pad, D::b_k_major>;

template <class D>
struct BwdDataLayouts {
    static constexpr TileWay a_way = kDirectBwdData<D>
                                         ? TileWay::DirectKMajor
                                         : kTileWay<D, D::m_per_block, D::a_vector, D::a_copy_threads, D::a_k_major>;
    static constexpr TileWay b_way =
        kDirectBwdData<D> ? TileWay::Direct : kTileWay<D, D::n_per_block, D::b_vector, D::b_copy_threads>;
    using InLdsA = OperandInLds<D, D::m_per_block, D::a_vector, D::a_pad, D::a_dst_vector, D::a_slices,
                                D::a_copy_threads, typename D::ComputeA, a_way>;
    using InLdsB = OperandInLds<D, D::n_per_block, D::b_vector, D::b_pad, D::b_dst_vector, D::b_slices,
                                D::b_copy_threads, typename D::ComputeB, b_way>;
    using A = typename InLdsA::Layout;
    using B = typename InLdsB::Layout;
    static constexpr int b_offset = D::planes * (D::m_per_block + D::a_pad) * 16;  // B follows A in a stage
    static_assert(b_offset + D::planes * B::plane_bytes == D::lds_stage_bytes, "a stage is A then B");
};

// With merged groups, the first row of the group that a thread's columns belong to.
template <bool Merges>
struct FirstRow {};
template <>
struct FirstRow<true> {
    int first_row;
};

// B: the weight as a matrix of taps and output channels by input channels. ChannelsLast: input channels are contiguous.
// Uniform: the compiler does not see that the base is uniform. Merges: rows and columns are those of merged groups; a
// thread's columns are of one group, and the rows of other groups are zero.
template <class Copy, int NDim, int KPerBlock, bool ChannelsLast, bool Uniform, bool Merges>
class WeightSource : FirstRow<Merges> {
    static_assert(ChannelsLast || Copy::column_vector == 1, "several channels at once lie side by side");

public:
    CKGEN_DEVICE WeightSource(const platform::Thread& thread, int id, const BwdDataArgs& args,
                              const BwdDataTile<NDim>& tile, const TapTiles<NDim>& taps) {
        int64 offset = tile.group * args.wei_group_bytes + (Merges ? 0 : tile.n_first * c_bytes(args));
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            offset += tile.first[d] * args.wei_stride_bytes[d];
        base_ = args.wei + offset + taps.chunk * (KPerBlock * args.wei_k_bytes);
        base_ = Uniform ? uniform_base(thread, base_) : base_;
        if constexpr(Merges) {
            const int column = tile.n_first + Copy::column_of(id);
            const int group = args.merged.by_c.quotient(column);
            this->first_row = group * args.merged.k;
            column_bytes_ = (column - group * args.merged.c) * c_bytes(args);
        } else {
            column_bytes_ = Copy::column_of(id) * c_bytes(args);
        }
        end_ = tile.n_first + Copy::column_of(id) < TileChannels<Merges>(args, tile).n(args) ? tile.taps[0] : 0;
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const int row = Copy::row_of(id, slice);
            ahead_[slice] = TapsAhead<NDim>(tile, row / args.tap_rows);
            row_[slice] = row % args.tap_rows;
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        const platform::GlobalBuffer window(Uniform ? uniform_base(thread, base_) : base_, platform::kMaxWindowBytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Copy::rows; ++row)
            Copy::fetch(thread, window, offset_[slice][row], registers, slice, row);
    }

    CKGEN_DEVICE void next_chunk(const BwdDataArgs& args) { base_ += KPerBlock * args.wei_k_bytes; }
    CKGEN_DEVICE void next_tap(const BwdDataArgs& args, int chunks) {
        base_ -= chunks * (KPerBlock * args.wei_k_bytes);
    }

    template <bool OneTap>
    CKGEN_DEVICE void refresh(const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                              const TileChannels<Merges>& channels, const TapTiles<NDim>& taps) {
        const int left = channels.k(args) - taps.chunk * KPerBlock;
        const uint32 pitch = static_cast<uint32>(args.wei_k_bytes);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            const Walk<NDim> tap = ahead_[slice].template tap<OneTap>(tile, taps);
            uint32 tap_bytes = 0;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                tap_bytes +=
                    static_cast<uint32>(tap.at[d] * args.tilde[d]) * static_cast<uint32>(args.wei_stride_bytes[d]);
            const SliceRow<Copy, OneTap> first(row_, slice);
            const uint32 bytes = static_cast<uint32>(column_bytes_) + first.bytes(pitch) + tap_bytes;
            if constexpr(Merges) {
                const int channel =
                    taps.chunk * KPerBlock + first.thread + first.ahead - this->first_row;  // of the columns' group
                const uint32 there = tap.at[0] < end_ ? static_cast<uint32>(args.merged.k) : 0;
                CKGEN_UNROLL
                for(int row = 0; row < Copy::rows; ++row)
                    offset_[slice][row] = static_cast<uint32>(channel + row) < there
                                              ? bytes + static_cast<uint32>(row) * pitch
                                              : platform::kInvalidOffset;
            } else {
                const int rows = tap.at[0] < end_ ? left : 0;
                CKGEN_UNROLL
                for(int row = 0; row < Copy::rows; ++row)
                    offset_[slice][row] = first.thread + first.ahead + row < rows
                                              ? bytes + static_cast<uint32>(row) * pitch
                                              : platform::kInvalidOffset;
            }
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
    TapsAhead<NDim> ahead_[Copy::slices];
    int row_[Copy::slices];  // row of GEMM-K in the tap
    uint32 offset_[Copy::slices][Copy::rows];
};

template <class D>
class BwdDataLoader {
    static constexpr int ndim = D::kernel_ndim;
    static constexpr int k_per_block = D::k_per_block;
    static constexpr bool merges = kMergesGroups<D>;

public:
    using Layouts = BwdDataLayouts<D>;
    using T = typename D::Out;
    static constexpr bool direct = kDirectBwdData<D>;  // direct-to-LDS loads
    using CopyA = RowEndCopyIf<typename Layouts::InLdsA::Copy, (D::row_vector > 1), D::one_tap_tiles>;
    using CopyB = typename Layouts::InLdsB::Copy;
    struct Registers {
        typename CopyA::Registers a;
        typename CopyB::Registers b;
    };

    CKGEN_DEVICE BwdDataLoader(const platform::Thread& thread, int id, const BwdDataArgs& args,
                               const BwdDataTile<ndim>& tile)
        : id_(id), wave_first_(thread.uniform(id / D::wave_size * D::wave_size)), args_(args), tile_(tile),
          channels_(args, tile), taps_(thread, args, tile), a_(thread, id, args, tile, taps_),
          b_(thread, id, args, tile, taps_) {
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
        if(merges || taps_.chunk == change_) {  // chunks of merged groups differ in the rows that are zero
            // At the tap's last chunk if that is partial, else after it.
            const bool over = taps_.chunk == args.k_chunks;
            const int chunks = over ? taps_.chunk : 0;
            if(over)
                taps_.tap.advance(tile_.taps, taps_.step);
            taps_.chunk -= chunks;
            a_.next_tap(args, chunks);
            b_.next_tap(args, chunks);
            refresh(args);
        }
    }

    // With `direct`: starts the loads of the next tile to a stage. await_loads() waits for them.
    CKGEN_DEVICE void load_to(const platform::Thread& thread, int stage) {
        const int base = stage * D::lds_stage_bytes;
        Registers places{CopyA::place(base, wave_first_), CopyB::place(base + Layouts::b_offset, wave_first_)};
        load(thread, places);
    }

    CKGEN_DEVICE void store(const platform::Thread& thread, int stage, const Registers& registers) const {
        const int base = stage * D::lds_stage_bytes;
        CopyA::store(thread, base, id_, registers.a);
        CopyB::store(thread, base + Layouts::b_offset, id_, registers.b);
    }

private:
    CKGEN_DEVICE void refresh(const BwdDataArgs& args) {
        if constexpr(D::one_tap_tiles || merges)
            refresh_sources<D::one_tap_tiles>(args);
        else if(args.tile_taps == 1)
            refresh_sources<true>(args);
        else
            refresh_sources<false>(args);
        const int whole = channels_.k(args) / k_per_block;
        change_ = taps_.chunk < whole ? whole : args.k_chunks;
    }

    template <bool OneTap>
    CKGEN_DEVICE void refresh_sources(const BwdDataArgs& args) {
        a_.template refresh<OneTap>(args, tile_, channels_, taps_);
        b_.template refresh<OneTap>(args, tile_, channels_, taps_);
    }

    int id_;
    int wave_first_;  // id of this wave's first thread
    const BwdDataArgs& args_;
    const BwdDataTile<ndim>& tile_;
    TileChannels<merges> channels_;
    TapTiles<ndim> taps_;
    int change_ = 0;  // the chunk at which offsets are recomputed
    PositionSource<CopyA, ndim, k_per_block, D::a_k_major> a_;
    // True if neighbouring channels are contiguous: in memory, where there is one tap, or in the copy.
    static constexpr bool side_by_side = D::b_channels_last || D::pointwise || D::copies_weight;
    WeightSource<CopyB, ndim, k_per_block, side_by_side, D::c_m_major, merges> b_;
};

}  // namespace ckgen::conv
