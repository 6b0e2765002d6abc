// Copied by ckgen from templates/include/ckgen/conv/bwd_weight_loader.hpp. Do not edit; run: ckgen generate
// The load side of backward weight: both operands' tiles, from global memory through registers to an LDS stage.
#pragma once

#include "ckgen/block/tile_copy.hpp"
#include "ckgen/conv/bwd_weight_view.hpp"

namespace ckgen::conv {

template <class D>
struct BwdWeightLayouts {
    using A = block::LdsLayout<D::m_per_block, D::k1, D::a_vector, D::a_pad>;
    using B = block::LdsLayout<D::n_per_block, D::k1, D::b_vector, D::b_pad>;
    static constexpr int b_offset = D::k_per_block / D::k1 * A::plane_bytes;  // B lies behind A in a stage
    static_assert(b_offset + D::k_per_block / D::k1 * B::plane_bytes == D::lds_stage_bytes, "a stage is A then B");
};

template <class D>
class BwdWeightLoader {
public:
    using Layouts = BwdWeightLayouts<D>;
    using T = typename D::Out;
    using CopyA =
        block::TileCopy<T, typename Layouts::A, D::k_per_block, D::a_dst_vector, D::a_slices, D::copy_threads>;
    using CopyB =
        block::TileCopy<T, typename Layouts::B, D::k_per_block, D::b_dst_vector, D::b_slices, D::copy_threads>;
    struct Registers {
        typename CopyA::Registers a;
        typename CopyB::Registers b;
    };

    CKGEN_DEVICE BwdWeightLoader(int id, const BwdWeightArgs& args, const BwdWeightTile& tile)
        : args_(args), id_(id), a_(id, args.out + tile.group * args.out_group_bytes, args.out_extent_bytes,
                                   args.out_row_bytes, tile.m_first, args.m),
          b_(id, args, args.in + tile.group * args.in_group_bytes, tile.n_first), next_tile_(tile.k_tile_first) {
        seek();
    }

    // Starts the loads of the next tile; the data is there when store() uses it.
    CKGEN_DEVICE void load(const platform::Thread& thread, Registers& registers) {
        a_.load(thread, registers.a);
        b_.load(thread, registers.b);
        ++next_tile_;
        if(--left_in_chunk_ == 0) {
            seek();
        } else {
            a_.advance(D::k_per_block);
            b_.advance(D::k_per_block);
        }
    }

    CKGEN_DEVICE void store(const platform::Thread& thread, int stage, const Registers& registers) const {
        const int base = stage * D::lds_stage_bytes;
        CopyA::store(thread, base, id_, registers.a);
        CopyB::store(thread, base + Layouts::b_offset, id_, registers.b);
    }

private:
    // Moves the 64-bit bases to the next tile, so that offsets from there on fit 31 bits.
    CKGEN_DEVICE void seek() {
        a_.seek(next_tile_ * D::k_per_block);
        b_.seek(next_tile_ * D::k_per_block);
        left_in_chunk_ = args_.k_tiles_per_chunk;
    }

    const BwdWeightArgs& args_;
    int id_;
    LinearSource<CopyA> a_;
    InputSource<CopyB, D::Layout::ndim, D::conv_spec> b_;
    int next_tile_;
    int left_in_chunk_ = 0;
};

}  // namespace ckgen::conv
