// Copied by ckgen from templates/include/ckgen/pipeline/tma/shifted_products.hpp. Do not edit; run: ckgen generate
// The products of stages whose A are rows of positions that begin anywhere in memory. Copies bring whole slots of
// 16 bytes, so that a row begins at any element of its first slot. Threads shift the rows into a buffer, an MN-major
// tile of wgmma, while the products of the stage before run.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/load/plane_block.hpp"
#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

// A stage has, for each 64 rows of the product and each output channel, 9 slots of 16 bytes: 64 positions that begin in
// the first. Eight threads read the slots of eight channels without bank conflicts.
struct ShiftedRows {
    static constexpr int slots = 9;
    static constexpr int pitch = slots * 16;
    static constexpr int block_bytes = 64 * pitch;  // of 64 output channels
};

// Shifts the rows of a tile's 64 positions. A thread has four slots of one output channel.
class RowShift {
public:
    // `id` counts the threads of the warpgroup. `block`: where the rows are; `first`: byte of the output of the tile's
    // first channel at position 0 of image 0.
    CKGEN_DEVICE RowShift(const conv::BwdDataArgs& args, const conv::PlaneBlock& block, int64 first, int id)
        : channel_(id % 64), slot_(id / 64 * own) {
        const int64 row = first + int64{channel_} * args.out_k_bytes;
        const auto begin = [&](int image, int position) {
            return static_cast<int>(row + image * args.out_image_bytes + position * 2) & 15;
        };
        const int first_begin = begin(block.image, block.position), second_begin = begin(block.image + 1, 0);
        CKGEN_UNROLL
        for(int i = 0; i < own; ++i)
            begin_[i] = (slot_ + i) * 8 < block.split ? first_begin : second_begin;
        halves_ = (args.out_k_bytes % 8 | args.out_image_bytes % 8 | args.out_group_bytes % 8) == 0;
    }

    // Shifts the channel's slots from byte `from` of LDS, where the block of the stage begins, to the tile at byte
    // `to`.
    CKGEN_DEVICE void move(const platform::Thread& thread, int from, int to) const {
        uint32 words[(own + 1) * 4];
        CKGEN_UNROLL
        for(int i = 0; i <= own; ++i) {
            const auto slot =
                thread.template lds_load<Vec<uint32, 4>>(from + channel_ * ShiftedRows::pitch + (slot_ + i) * 16);
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                words[i * 4 + w] = slot[w];
        }
        if(halves_)
            put<true>(thread, words, to);
        else
            put<false>(thread, words, to);
    }

private:
    static constexpr int own = 4;  // slots of a thread

    template <bool Halves>
    CKGEN_DEVICE void put(const platform::Thread& thread, const uint32 (&words)[(own + 1) * 4], int to) const {
        CKGEN_UNROLL
        for(int i = 0; i < own; ++i)
            thread.lds_store(to + atom::SwizzledRows<half_t, 64>::offset(channel_, slot_ + i),
                             shifted<Halves>(words + i * 4, begin_[i]));
    }
    // The 16 bytes from byte `begin` of eight words on: an even number below 16, with Halves 0 or 8.
    template <bool Halves>
    static CKGEN_DEVICE Vec<uint32, 4> shifted(const uint32* words, int begin) {
        uint32 by_two[6];
        CKGEN_UNROLL
        for(int i = 0; i < 6; ++i)
            by_two[i] = (begin & 8) != 0 ? words[i + 2] : words[i];
        if constexpr(Halves) {
            return {by_two[0], by_two[1], by_two[2], by_two[3]};
        } else {
            uint32 by_one[5];
            CKGEN_UNROLL
            for(int i = 0; i < 5; ++i)
                by_one[i] = (begin & 4) != 0 ? by_two[i + 1] : by_two[i];
            Vec<uint32, 4> result{};
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                result[i] = static_cast<uint32>((uint64{by_one[i + 1]} << 32 | by_one[i]) >> (begin & 2) * 8);
            return result;
        }
    }

    int channel_, slot_;  // of the stage's
    int begin_[own];      // byte of the slot at which the row begins
    bool halves_;         // true if rows begin at multiples of 8 bytes
};

template <class D>
class ShiftedProducts {
    using T = typename D::Out;
    using Tile = atom::SwizzledTile<T, D::k_per_block, 64>;

public:
    // `id` counts the threads of the warpgroup, whose block of 64 rows has this number. `k`: the unit's first tile of
    // GEMM-K.
    template <class Args>
    CKGEN_DEVICE ShiftedProducts(const platform::Thread& thread, const Args& args, const conv::BwdDataTile<1>& tile,
                                 int k, int id, int block)
        : thread_(thread), id_(id), block_(block),
          shift_(args.problem, {args.units, tile, tile.m_first + block * conv::PlaneBlock::rows},
                 tile.group * args.problem.out_group_bytes +
                     (tile.k_tile_first + k) * args.problem.tap_rows * int64{args.problem.out_k_bytes},
                 id) {}

    // acc += the products of the next k_tiles stages of the ring, of Steps times 16 output channels each.
    template <int Steps>
    CKGEN_DEVICE void add(TmaRing<D>& ring, int k_tiles, float (&acc)[D::n_per_block / 2]) const {
        if(k_tiles == 0)
            return;
        meet();  // no products read the buffers any more
        uint32 buffer = TmaRing<D>::buffers();
        load<Steps>(ring, buffer);
        for(int k = 0; k < k_tiles; ++k) {
            const Tile a(buffer + static_cast<uint32>(block_ * Tile::bytes));
            const Tile b(ring.data() + D::m_per_block / 64 * ShiftedRows::block_bytes);
            atom::wgmma_fence();
            CKGEN_UNROLL
            for(int step = 0; step < Steps; ++step)
                atom::wgmma<T, D::n_per_block>(acc, a.descriptor(16 * step), b.descriptor(16 * step), true);
            atom::wgmma_commit();
            const uint32 empty = ring.empty();
            ring.next();
            buffer = buffer == last() ? TmaRing<D>::buffers() : buffer + buffer_bytes;
            if(k + 1 < k_tiles)
                load<Steps>(ring, buffer);
            atom::wgmma_wait<0>();
            atom::wgmma_done(acc);
            release_by_warps(empty, id_);
        }
    }

private:
    static constexpr uint32 buffer_bytes = D::m_per_block / 64 * Tile::bytes;

    static CKGEN_DEVICE uint32 last() { return TmaRing<D>::buffers() + (D::shift_buffers - 1) * buffer_bytes; }
    // Fills the buffer from the stage when it has arrived. Products of the stage before, and those of the one before it
    // in other warps, may still read other buffers.
    template <int Steps>
    CKGEN_DEVICE void load(const TmaRing<D>& ring, uint32 buffer) const {
        platform::mbarrier_wait(ring.full(), ring.parity);
        const auto byte = [](uint32 address) { return static_cast<int>(address - platform::lds_start()); };
        if(id_ % 64 < 16 * Steps)
            shift_.move(thread_, byte(ring.data()) + block_ * ShiftedRows::block_bytes,
                        byte(buffer) + block_ * Tile::bytes);
        platform::fence_proxy_async();
        meet();
    }
    // A barrier of the warpgroup, which its epilogue uses, too.
    CKGEN_DEVICE void meet() const { platform::barrier_of(thread_.uniform(thread_.thread_id() / 128), 128); }

    const platform::Thread& thread_;
    const int id_, block_;
    const RowShift shift_;
};

}  // namespace ckgen::pipeline
