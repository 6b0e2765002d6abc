// The loads of A in f32 to registers of wgmma (WgmmaFragment), one fragment per eight positions of GEMM-K. Row i of the
// product is row i of the tile; atom::PlaneFragments has another order. Tiles begin `bytes_on` after `base`.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::atom {

// A whose rows have 128 bytes of GEMM-K each, swizzled. ldmatrix, which loads 8 rows of 16 bytes, gives each lane one
// word of 32 bits.
class RowFragments {
    using Rows = SwizzledRows<float, 32>;

public:
    CKGEN_DEVICE RowFragments(const platform::Thread& thread, uint32 base) {
        const int id = thread.thread_id() % 128, matrix = id % 32 / 8;  // row halves by halves of eight positions
        const int row = id / 32 * 16 + matrix % 2 * 8 + id % 8;
        address_ = base + static_cast<uint32>(Rows::offset(row, matrix / 2));
    }
    CKGEN_DEVICE void load(uint32 (&fragment)[4], int eight, int bytes_on) const {
        // The swizzle is an XOR, too.
        const uint32 address = (address_ + static_cast<uint32>(bytes_on)) ^ static_cast<uint32>(eight) * 32;
        platform::load_matrices(address, fragment);
    }

private:
    uint32 address_;
};

// The eight positions of GEMM-K in the order in which WgmmaFragment counts them, if lane t of four takes positions
// 2 * t and 2 * t + 1 in place of t and t + 4. Then lanes that load together read all 32 banks, since the swizzle moves
// position p by p % 8 slots of 16 bytes.
CKGEN_HD constexpr int position_in_pairs(int k) { return k % 4 * 2 + k / 4; }

// A in boxes of 32 rows (128 bytes, swizzled) by Positions positions of GEMM-K, which are taken in pairs.
template <int Positions>
class PairFragments {
    using Box = SwizzledTile<float, Positions, 32>;

public:
    CKGEN_DEVICE PairFragments(const platform::Thread& thread, uint32 base) : thread_(thread) {
        const int id = thread.thread_id() % 128;
        const int first = static_cast<int>(base - platform::lds_start());
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            const int row = WgmmaFragment::row(id, i), position = position_in_pairs(WgmmaFragment::k(id, i));
            byte_[i] = first + row / 32 * Box::bytes + Box::offset(position, row % 32 / 4) + row % 4 * 4;
        }
    }
    CKGEN_DEVICE void load(uint32 (&fragment)[4], int eight, int bytes_on) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            fragment[i] = thread_.template lds_load<uint32>(byte_[i] + bytes_on + eight * 8 * Box::pitch);
    }

private:
    const platform::Thread& thread_;
    int byte_[4];
};

}  // namespace ckgen::atom
