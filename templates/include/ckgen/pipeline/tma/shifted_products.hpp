// The products of stages whose A are rows of positions that begin anywhere in memory. Bulk copies bring whole slots of
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
        const int64 image = block.image * args.out_image_bytes;
        const auto begins = [&](int64 byte) { return static_cast<int>(static_cast<uint32>(row + byte) % 16); };
        const int first_byte = begins(image + block.position * 2);
        const int second_byte = begins(image + args.out_image_bytes);
        const int second = min_of(block.split, conv::PlaneBlock::rows) / 8;  // slot
        // Where the positions of an image that begin in a slot end.
        const auto end = [](int slot, int byte, int positions) {
            return positions > 0 ? slot * 16 + byte + positions * 2 : 0;
        };
        const int first_end = end(0, first_byte, block.first_positions(args));
        const int second_end = end(second, second_byte, block.second_positions(args));
        CKGEN_UNROLL
        for(int i = 0; i <= own; ++i) {
            const int byte = (slot_ + i) * 16;
            if(byte < (slot_ + i < second || second == 8 ? first_end : second_end))
                present_ |= 1 << i;
            if(i < own)
                begin_[i] = slot_ + i < second ? first_byte : second_byte;
        }
    }

    // Shifts the channel's slots from byte `from` of LDS, where the block of the stage begins, to the tile at byte `to`.
    // Slots that no copy writes, and those of channels from `channels` on, become zero.
    CKGEN_DEVICE void move(const platform::Thread& thread, int from, int to, int channels) const {
        const int present = channel_ < channels ? present_ : 0;
        uint32 words[(own + 1) * 4];
        CKGEN_UNROLL
        for(int i = 0; i <= own; ++i) {
            Vec<uint32, 4> slot{};
            if((present >> i & 1) != 0)
                slot = thread.template lds_load<Vec<uint32, 4>>(from + channel_ * ShiftedRows::pitch + (slot_ + i) * 16);
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                words[i * 4 + w] = slot[w];
        }
        CKGEN_UNROLL
        for(int i = 0; i < own; ++i)
            thread.lds_store(to + atom::SwizzledRows<half_t, 64>::offset(channel_, slot_ + i),
                             shifted(words + i * 4, begin_[i]));
    }

private:
    static constexpr int own = 4;  // slots of a thread

    // The 16 bytes from byte `begin`, an even number below 16, of eight words on.
    static CKGEN_DEVICE Vec<uint32, 4> shifted(const uint32* words, int begin) {
        uint32 by_two[6], by_one[5];
        CKGEN_UNROLL
        for(int i = 0; i < 6; ++i)
            by_two[i] = (begin & 8) != 0 ? words[i + 2] : words[i];
        CKGEN_UNROLL
        for(int i = 0; i < 5; ++i)
            by_one[i] = (begin & 4) != 0 ? by_two[i + 1] : by_two[i];
        Vec<uint32, 4> result{};
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            result[i] = static_cast<uint32>((uint64{by_one[i + 1]} << 32 | by_one[i]) >> (begin & 2) * 8);
        return result;
    }

    int channel_, slot_;  // of the stage's
    int begin_[own];      // byte of the slot at which the row begins
    int present_ = 0;     // a bit for each slot that copies write
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
        : thread_(thread), problem_(args.problem), id_(id), block_(block),
          channel_((tile.k_tile_first + k) * problem_.tap_rows),
          shift_(problem_, {args.units, tile, tile.m_first + block * conv::PlaneBlock::rows},
                 tile.group * problem_.out_group_bytes + int64{channel_} * problem_.out_k_bytes, id) {}

    // acc += the products of the next k_tiles stages of the ring, of Steps times 16 output channels each.
    template <int Steps>
    CKGEN_DEVICE void add(TmaRing<D>& ring, int k_tiles, float (&acc)[D::n_per_block / 2]) const {
        if(k_tiles == 0)
            return;
        meet();  // no products read the buffers any more
        uint32 buffer = TmaRing<D>::buffers();
        int channels = problem_.k - channel_;  // from the stage's first on
        load<Steps>(ring, buffer, channels);
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
            channels -= problem_.tap_rows;
            buffer = buffer == last() ? TmaRing<D>::buffers() : buffer + buffer_bytes;
            if(k + 1 < k_tiles)
                load<Steps>(ring, buffer, channels);
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
    CKGEN_DEVICE void load(const TmaRing<D>& ring, uint32 buffer, int channels) const {
        platform::mbarrier_wait(ring.full(), ring.parity);
        const auto byte = [](uint32 address) { return static_cast<int>(address - platform::lds_start()); };
        if(id_ % 64 < 16 * Steps)
            shift_.move(thread_, byte(ring.data()) + block_ * ShiftedRows::block_bytes,
                        byte(buffer) + block_ * Tile::bytes, channels);
        platform::fence_proxy_async();
        meet();
    }
    // A barrier of the warpgroup, which its epilogue uses, too.
    CKGEN_DEVICE void meet() const { platform::barrier_of(thread_.uniform(thread_.thread_id() / 128), 128); }

    const platform::Thread& thread_;
    const conv::BwdDataArgs& problem_;
    const int id_, block_;
    const int channel_;  // the first
    const RowShift shift_;
};

}  // namespace ckgen::pipeline
