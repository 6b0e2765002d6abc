// Copied by ckgen from templates/include/ckgen/pipeline/tma/tma_ring.hpp. Do not edit; run: ckgen generate
// Shared memory of the kernels of families wavelet_tma and stationary: the ring of stages, the stationary tiles of B or
// the buffers that threads fill, and the barriers of both (pipeline/tma/tma_roles.hpp).
#pragma once

#include "ckgen/conv/tile_schedule.hpp"
#include "ckgen/pipeline/stage_ring.hpp"

namespace ckgen::pipeline {

// In order of addresses: the stationary B or the buffers, the stages, the barriers of the stages, the
// order barriers of the ping-pong consumers, the barriers of the stationary B, the epilogue's LDS. Swizzled tiles begin
// at multiples of 1024.
template <class D>
struct TmaRing : StageRing {
    static constexpr int row_buffer_bytes = D::k_per_block * (2 * D::m_per_block + 2 * D::n_per_block + 32);
    static constexpr int weight_bytes = D::weight_rows * D::n_per_block * 2 + D::part_buffers * D::n_per_block * 256 +
                                        D::shift_buffers * D::m_per_block * 128 + D::row_buffers * row_buffer_bytes;

    CKGEN_DEVICE explicit TmaRing(uint32 first_stage)
        : StageRing(first_stage, D::lds_stage_bytes, D::stages, first_stage + D::stages * D::lds_stage_bytes) {}
    static CKGEN_DEVICE TmaRing first() { return TmaRing(weight() + weight_bytes); }

    // The first of D::part_buffers buffers of two K-major tiles of B (pipeline/tma/tma_part_products.hpp), of
    // D::shift_buffers buffers of A (pipeline/tma/shifted_products.hpp), or of D::row_buffers buffers of both
    // (pipeline/tma/any_rows.hpp).
    static CKGEN_DEVICE uint32 buffers() { return weight(); }
    static CKGEN_DEVICE uint32 weight() { return (platform::lds_start() + 1023u) & ~1023u; }
    // Byte of the workgroup's LDS where the epilogue's memory begins.
    static CKGEN_DEVICE int end_byte() {
        return static_cast<int>(weight() - platform::lds_start()) + D::lds_weight_bytes +
               D::stages * (D::lds_stage_bytes + stage_barrier_bytes) + 16;
    }
    // The order barrier of a ping-pong consumer, at which it waits before it multiplies. There is space for two.
    CKGEN_DEVICE uint32 order(int consumer) const {
        return barriers + D::stages * stage_barrier_bytes + static_cast<uint32>(consumer) * 8;
    }
    // Barriers of the stationary B. weight_full(tile): that tile has arrived. weight_empty(): no consumer reads the
    // current B any more.
    CKGEN_DEVICE uint32 weight_full(int tile) const { return order(2) + static_cast<uint32>(tile) * 8; }
    CKGEN_DEVICE uint32 weight_empty() const { return weight_full(D::weight_rows / 16); }
};

// The units of this workgroup: consecutive ones if B is stationary, because they share it. With positions side by side,
// workgroups store neighbouring positions of all channels at the same time instead: a tile's rows of 128 bytes are far
// apart, and those of consecutive tiles of one workgroup would reach memory one after the other.
template <class D>
CKGEN_DEVICE conv::UnitRun tma_units(const platform::Thread& thread, const conv::TileSchedule& schedule) {
    const auto workgroup = static_cast<int32>(thread.block_id());
    const auto workgroups = static_cast<int32>(thread.grid_size());
    return D::weight_rows > 0 && D::Layout::channels_last ? conv::contiguous_units(schedule, workgroup, workgroups)
                                                          : conv::strided_units(schedule, workgroup, workgroups);
}

// The stationary B of a role's current unit. Both roles see it change at the same units.
struct TmaWeight {
    int number = -1, k_first = 0;
    int changed = 0;        // number of changes
    uint32 parities = ~0u;  // of the phases of its tiles' barriers; the next B may have another number of tiles

    // True if the tile needs another B than the tile before it.
    template <class Tile>
    CKGEN_DEVICE bool changes(const Tile& tile) {
        if(tile.k_tiles == 0 || (tile.weight == number && tile.k_tile_first == k_first))
            return false;
        number = tile.weight;
        k_first = tile.k_tile_first;
        ++changed;
        parities ^= ~0u >> (32 - tile.k_tiles);
        return true;
    }
};
// The tile of the stationary B that belongs to a stage.
struct TmaWeightTile {
    int tile;
    uint32 parities, data, bytes;

    CKGEN_DEVICE int parity() const { return static_cast<int>(parities & 1); }
    CKGEN_DEVICE void next() {
        ++tile;
        parities >>= 1;
        data += bytes;
    }
};

}  // namespace ckgen::pipeline
