// Copied by ckgen from templates/include/ckgen/pipeline/tma/tma_warp_products.hpp. Do not edit; run: ckgen generate
// The products of stages by single warps, which load both operands to registers (atom/warp_tile.hpp).
#pragma once

#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

template <class D, class Products>
class WarpProducts {
public:
    // As in PartProducts.
    template <class Args, class Tile>
    CKGEN_DEVICE WarpProducts(const platform::Thread& thread, const Args&, const Tile&, int, int id, int block)
        : products_(thread, id), id_(id), a_byte_(static_cast<uint32>(block * 64 * 128)),
          b_byte_(D::m_per_block * 128) {}

    // acc += the products of the first Eights times eight positions of GEMM-K of the next k_tiles stages of the ring.
    // The operands of the next step are loaded before a step is multiplied, if registers are free for them.
    template <int Eights>
    CKGEN_DEVICE void add(TmaRing<D>& ring, int k_tiles, float (&acc)[D::n_per_block / 2]) const {
        if(k_tiles == 0)
            return;
        constexpr int last = Products::template steps<Eights> - 1;
        constexpr bool ahead = Eights % 2 == 0;  // else the next stage's operands take the place of the last step's
        Operands operands;
        Stage stage = arrived(ring);
        load(operands, stage, 0);
        for(int k = 0; k < k_tiles; ++k) {
            const uint32 empty = ring.empty();
            const auto next_stage = [&] {
                ring.next();
                if(k + 1 < k_tiles) {
                    stage = arrived(ring);
                    load(operands, stage, 0);
                }
            };
            CKGEN_UNROLL
            for(int step = 0; step <= last; ++step) {
                if(step < last)
                    load(operands, stage, step + 1);
                else if(ahead)
                    next_stage();
                Products::multiply(operands.a[Products::eight(step) % 2], operands.b[step % 2], acc, step);
            }
            if(!ahead)
                next_stage();
            release_by_warps(empty, id_);  // the last products, which waited for the loads, are issued
        }
    }

private:
    using Stage = typename Products::Stage;
    // Operands of the step that is multiplied, and of the next.
    struct Operands {
        typename Products::FragmentA a[2];
        typename Products::FragmentB b[2];
    };

    CKGEN_DEVICE Stage arrived(const TmaRing<D>& ring) const {
        platform::mbarrier_wait(ring.full(), ring.parity);
        return products_.stage(ring.data() + a_byte_, ring.data() + b_byte_);
    }
    CKGEN_DEVICE void load(Operands& operands, const Stage& stage, int step) const {
        if(Products::has_new_a(step))
            products_.load_a(operands.a[Products::eight(step) % 2], stage, step);
        products_.load_b(operands.b[step % 2], stage, step);
    }

    const Products products_;
    const int id_;
    const uint32 a_byte_, b_byte_;
};

}  // namespace ckgen::pipeline
