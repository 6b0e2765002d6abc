// The load side of backward weight: both operands' tiles, from global memory through registers to an LDS stage.
#pragma once

#include "ckgen/conv/im2col_source.hpp"
#include "ckgen/conv/operand_in_lds.hpp"

namespace ckgen::conv {

template <class D>
struct BwdWeightLayouts {
    using InLdsA = OperandInLds<D, D::m_per_block, D::a_vector, D::a_pad, D::a_dst_vector, D::a_slices>;
    using InLdsB = OperandInLds<D, D::n_per_block, D::b_vector, D::b_pad, D::b_dst_vector, D::b_slices>;
    using A = typename InLdsA::Layout;
    using B = typename InLdsB::Layout;
    static constexpr int b_offset = D::k_per_block / D::k1 * A::plane_bytes;  // B lies behind A in a stage
    static_assert(b_offset + D::k_per_block / D::k1 * B::plane_bytes == D::lds_stage_bytes, "a stage is A then B");
};

template <class D>
class BwdWeightLoader {
public:
    using Layouts = BwdWeightLayouts<D>;
    using T = typename D::Out;
    using CopyA = typename Layouts::InLdsA::Copy;
    using CopyB = typename Layouts::InLdsB::Copy;
    struct Registers {
        typename CopyA::Registers a;
        typename CopyB::Registers b;
    };

    CKGEN_DEVICE BwdWeightLoader(const platform::Thread& thread, int id, const BwdWeightArgs& args,
                                 const BwdWeightTile& tile)
        : id_(id), a_(id, args.out + tile.group * args.out_group_bytes, args.k, args.out_row_bytes,
                      tile.k_tile_first * D::k_per_block, tile.m_first, args.m),
          b_(thread, id, args, args.in + tile.group * args.in_group_bytes, tile.k_tile_first * D::k_per_block,
             tile.n_first) {}

    // Starts the loads of the next tile; the data is there when store() uses it.
    CKGEN_DEVICE void load(const platform::Thread& thread, Registers& registers) {
        a_.load(thread, registers.a);
        b_.load(thread, registers.b);
        a_.advance(thread);
        b_.advance(thread);
    }

    CKGEN_DEVICE void store(const platform::Thread& thread, int stage, const Registers& registers) const {
        const int base = stage * D::lds_stage_bytes;
        CopyA::store(thread, base, id_, registers.a);
        CopyB::store(thread, base + Layouts::b_offset, id_, registers.b);
    }

private:
    int id_;
    LinearSource<CopyA> a_;
    InputSource<CopyB, D::Layout::ndim, D::conv_spec> b_;
};

}  // namespace ckgen::conv
