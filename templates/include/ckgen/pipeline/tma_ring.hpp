// Where tiles lie in shared memory that TMA loads bring: a ring of stages, and in family stationary the tiles
// of B that stay. Mbarriers tell the load role and the math role of each other (pipeline/tma_roles.hpp).
#pragma once

#include "ckgen/conv/tile_schedule.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::pipeline {

// Where a stage and its barriers lie in shared memory.
template <class D>
struct TmaRing {
    uint32 base;
    int stage = 0;
    int parity = 0;

    CKGEN_DEVICE uint32 data() const { return base + static_cast<uint32>(stage * D::lds_stage_bytes); }
    CKGEN_DEVICE uint32 full() const { return base + D::stages * D::lds_stage_bytes + static_cast<uint32>(stage) * 16; }
    CKGEN_DEVICE uint32 empty() const { return full() + 8; }
    // A B that stays lies before the stages. Swizzled tiles begin at multiples of 1024.
    static constexpr int weight_bytes = D::weight_rows * D::n_per_block * 2;
    static CKGEN_DEVICE uint32 weight() { return (platform::lds_start() + 1023u) & ~1023u; }
    static CKGEN_DEVICE TmaRing first() { return {weight() + weight_bytes}; }
    // Of the workgroup's LDS, the first byte behind the ring and the other barriers.
    static CKGEN_DEVICE int end_byte() {
        return static_cast<int>(weight() - platform::lds_start()) + D::lds_weight_bytes +
               D::stages * (D::lds_stage_bytes + 16) + 16;
    }
    // Where a team waits for its turn, behind the last stage's barriers: 16 bytes that rounding `base` up leaves over.
    CKGEN_DEVICE uint32 turn(int team) const {
        return base + D::stages * (D::lds_stage_bytes + 16) + static_cast<uint32>(team) * 8;
    }
    // Of a B that stays: a tile of it is there, it is no longer read.
    CKGEN_DEVICE uint32 weight_full(int tile) const { return turn(2) + static_cast<uint32>(tile) * 8; }
    CKGEN_DEVICE uint32 weight_empty() const { return weight_full(D::weight_rows / 16); }
    CKGEN_DEVICE void next() {
        if(++stage == D::stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    CKGEN_DEVICE void skip(int count) {
        const int rounds = (stage + count) / D::stages;
        stage += count - rounds * D::stages;
        parity ^= rounds & 1;
    }
};

// The units of this workgroup. Where B stays, neighbours, for which it is the same.
template <class D>
CKGEN_DEVICE conv::UnitRun tma_units(const platform::Thread& thread, const conv::TileSchedule& schedule) {
    const auto workgroup = static_cast<int32>(thread.block_id());
    const auto workgroups = static_cast<int32>(thread.grid_size());
    return D::weight_rows > 0 ? conv::contiguous_units(schedule, workgroup, workgroups)
                              : conv::strided_units(schedule, workgroup, workgroups);
}

// Which B stays, as a role comes to its units. Both roles see it change at the same unit.
struct TmaWeight {
    int number = -1, k_first = 0;
    int changed = 0;        // how often
    uint32 parities = ~0u;  // of the phases of tiles that are there: one may have had more tiles than the next

    // Whether a tile wants another B than the one before it.
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
// Its tile for a stage.
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
