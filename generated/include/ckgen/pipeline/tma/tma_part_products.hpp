// Copied by ckgen from templates/include/ckgen/pipeline/tma/tma_part_products.hpp. Do not edit; run: ckgen generate
// The products of stages in f32 by wgmma: operands are sums of two numbers of tf32 (atom/tf32_parts.hpp). Threads load
// A and compute its parts in registers. The parts of B are K-major tiles in shared memory: in the stage, or in buffers
// that the threads fill from the stage while the products of the stage before it run. The tensor cores sum the products
// of a stage, small ones first, and threads add these sums in f32.
#pragma once

#include "ckgen/atom/part_columns.hpp"
#include "ckgen/atom/tf32_parts.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

// The parts of B are in the stage.
struct PartsInStage {
    CKGEN_DEVICE explicit PartsInStage(int) {}
};

// Rows: the loads of A, one of atom/part_rows.hpp or atom::PlaneFragments. Columns: what fills the buffers, one of
// atom/part_columns.hpp, or PartsInStage.
template <class D, class Rows, class Columns>
class PartProducts {
    static constexpr int columns = D::n_per_block;
    static constexpr bool splits = !IsSame<Columns, PartsInStage>::value;

public:
    // `id` counts the threads of the warpgroup, whose block of 64 rows has this number.
    template <class Args, class OutputTile>
    CKGEN_DEVICE PartProducts(const platform::Thread& thread, const Args&, const OutputTile&, int, int id, int block)
        : thread_(thread), rows_(thread, platform::lds_start()), columns_(thread.thread_id() - 128), id_(id),
          a_byte_(static_cast<uint32>(block * 64 * 128)), b_byte_(D::m_per_block * 128) {}

    // acc += the products of the first Eights times eight positions of GEMM-K of the next k_tiles stages of the ring.
    template <int Eights>
    CKGEN_DEVICE void add(TmaRing<D>& ring, int k_tiles, float (&acc)[columns / 2]) const {
        if(k_tiles == 0)
            return;
        if constexpr(splits)
            meet();  // no products read the buffers any more
        uint32 buffer = TmaRing<D>::buffers();
        uint32 fragments[Eights][4];
        load(fragments, ring, buffer);
        for(int k = 0; k < k_tiles; ++k) {
            const atom::Tf32Parts<Eights, 4> a(fragments);
            const uint32 b = splits ? buffer : ring.data() + b_byte_;
            const Tile high(b), low(b + Tile::bytes);
            float products[columns / 2];
            atom::wgmma_fence();  // after the loads
            multiply(a.low, high, products, false);
            multiply(a.high, low, products, true);
            multiply(a.high, high, products, true);
            atom::wgmma_commit();
            const uint32 empty = ring.empty();
            ring.next();
            if constexpr(splits)
                buffer += buffer == TmaRing<D>::buffers() + (D::part_buffers - 1) * buffer_bytes
                              ? -(D::part_buffers - 1) * buffer_bytes
                              : buffer_bytes;
            if(k + 1 < k_tiles)
                load(fragments, ring, buffer);
            atom::wgmma_wait<0>();
            atom::wgmma_done(products);
            if constexpr(!splits)
                release_by_warps(empty, id_);
            CKGEN_UNROLL
            for(int i = 0; i < columns / 2; ++i)
                acc[i] += products[i];
        }
    }

private:
    using Tile = atom::SwizzledTile<float, columns, D::k_per_block>;
    static constexpr int buffer_bytes = 2 * Tile::bytes;

    // Loads A of the stage when it has arrived, and fills `buffer` with the parts of B. A warpgroup may fill a buffer
    // while another waits for the products of the stage before; with three, these and earlier ones read others.
    template <int Eights>
    CKGEN_DEVICE void load(uint32 (&fragments)[Eights][4], const TmaRing<D>& ring, uint32 buffer) const {
        platform::mbarrier_wait(ring.full(), ring.parity);
        if constexpr(splits)
            columns_.fill(thread_, lds_byte(ring.data() + b_byte_), lds_byte(buffer), lds_byte(buffer + Tile::bytes));
        CKGEN_UNROLL
        for(int eight = 0; eight < Eights; ++eight)
            rows_.load(fragments[eight], eight, lds_byte(ring.data() + a_byte_));
        if constexpr(splits) {
            platform::fence_proxy_async();
            release_by_warps(ring.empty(), id_);
            meet();
        }
    }
    template <int Eights>
    static CKGEN_DEVICE void multiply(const uint32 (&a)[Eights][4], const Tile& b, float (&products)[columns / 2],
                                      bool accumulate) {
        CKGEN_UNROLL
        for(int eight = 0; eight < Eights; ++eight)
            atom::wgmma_of_registers<columns>(products, a[eight], b.k_major_descriptor(8 * eight),
                                              accumulate || eight > 0);
    }
    // From an address of shared memory to a byte of LDS.
    static CKGEN_DEVICE int lds_byte(uint32 address) { return static_cast<int>(address - platform::lds_start()); }
    // A barrier of the math role. Epilogues use one per warpgroup, with lower numbers.
    static CKGEN_DEVICE void meet() { platform::barrier_of(8, D::block_size); }

    const platform::Thread& thread_;
    const Rows rows_;
    const Columns columns_;
    const int id_;
    const uint32 a_byte_, b_byte_;
};

}  // namespace ckgen::pipeline
