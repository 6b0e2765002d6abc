// Loads of backward weight: brings the tiles of both operands from global memory through registers to an LDS stage.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/load/input_source.hpp"
#include "ckgen/load/operand_in_lds.hpp"

namespace ckgen::conv {

template <class D>
inline constexpr bool kDirectLoads = D::a_copy_threads == D::copy_threads && D::b_copy_threads == D::copy_threads &&
                                     kDirectOperand<D, D::m_per_block, D::a_vector, D::a_pad, D::a_k_major> &&
                                     kDirectOperand<D, D::n_per_block, D::b_vector, D::b_pad, D::b_k_major>;

template <class D>
struct BwdWeightLayouts {
    template <int Columns, int Vector, int Threads, bool IsKMajor>
    static constexpr TileWay way = kDirectLoads<D> ? TileWay::Direct : kTileWay<D, Columns, Vector, Threads, IsKMajor>;
    using InLdsA =
        OperandInLds<D, D::m_per_block, D::a_vector, D::a_pad, D::a_dst_vector, D::a_slices, D::a_copy_threads,
                     typename D::ComputeA, way<D::m_per_block, D::a_vector, D::a_copy_threads, D::a_k_major>>;
    using InLdsB =
        OperandInLds<D, D::n_per_block, D::b_vector, D::b_pad, D::b_dst_vector, D::b_slices, D::b_copy_threads,
                     typename D::ComputeB, way<D::n_per_block, D::b_vector, D::b_copy_threads, D::b_k_major>>;
    using A = typename InLdsA::Layout;
    using B = typename InLdsB::Layout;
    static constexpr int b_offset = D::k_per_block / D::k1 * A::plane_bytes;  // B follows A in a stage
    static_assert(b_offset + D::k_per_block / D::k1 * B::plane_bytes == D::lds_stage_bytes, "a stage is A then B");
};

// The copy of an operand whose vectors taps shift.
template <class Plain, bool Shifted>
struct ShiftedIf {
    using Copy = Plain;
};
template <class Plain>
struct ShiftedIf<Plain, true> {
    using Copy = block::ShiftedSlotCopy<Plain>;
};

template <class D>
class BwdWeightLoader {
public:
    using Layouts = BwdWeightLayouts<D>;
    using T = typename D::Out;
    static constexpr bool direct = kDirectLoads<D>;  // direct-to-LDS loads
    using CopyA = typename Layouts::InLdsA::Copy;
    static constexpr bool shifted = D::b_k_major && D::b_vector != 1 && D::conv_spec != ConvSpec::Filter1x1Stride1Pad0;
    using CopyB = typename ShiftedIf<typename Layouts::InLdsB::Copy, shifted>::Copy;
    struct Registers {
        typename CopyA::Registers a;
        typename CopyB::Registers b;
    };

    CKGEN_DEVICE BwdWeightLoader(const platform::Thread& thread, int id, const BwdWeightArgs& args,
                                 const BwdWeightTile& tile)
        : id_(id), wave_first_(thread.uniform(id / D::wave_size * D::wave_size)),
          a_(thread, id, args, (kExchanges<D> ? args.in : args.out) + scalar(thread, tile.group) * args.out_group_bytes,
             first_row(thread, tile), scalar(thread, tile.m_first), channels(args, tile, args.merged.k)),
          b_(thread, id, args, (kExchanges<D> ? args.out : args.in) + scalar(thread, tile.group) * args.in_group_bytes,
             first_row(thread, tile), tile.n_first, channels(args, tile, args.merged.c)) {}

    // Starts the loads of the next tile. store() waits for their values.
    CKGEN_DEVICE void load(const platform::Thread& thread, Registers& registers) {
        a_.load(thread, registers.a);
        b_.load(thread, registers.b);
        a_.advance(thread);
        b_.advance(thread);
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
    // Merged planes: without uniform() the compiler computes the bases in vector registers, and each of the many loads
    // in a loop over the bases of a wave.
    static CKGEN_DEVICE int scalar(const platform::Thread& thread, int value) {
        if constexpr(D::groups_to_merge > 1 && D::b_k_major)
            return thread.uniform(value);
        else
            return static_cast<void>(thread), value;
    }
    static CKGEN_DEVICE int first_row(const platform::Thread& thread, const BwdWeightTile& tile) {
        return scalar(thread, tile.k_tile_first) * D::k_per_block;
    }

    // Channels of the groups of a tile that exist, given those of one group: the last tile may have fewer groups.
    static CKGEN_DEVICE int channels(const BwdWeightArgs& args, const BwdWeightTile& tile, int of_group) {
        if constexpr(D::groups_to_merge == 1)
            return kAllChannels;
        else
            return min_of(args.groups_per_block, args.groups - tile.group) * of_group;
    }

    int id_;
    int wave_first_;  // id of this wave's first thread
    OutputSource<CopyA, D::a_k_major> a_;
    InputSource<CopyB, D::Layout::ndim, D::conv_spec, ColumnOrder<D>> b_;
};

}  // namespace ckgen::conv
