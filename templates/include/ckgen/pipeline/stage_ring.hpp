// The ring of stages through which the load role of a Hopper kernel passes tiles to the math role, and its mbarriers.
// Addresses are shared-memory byte addresses.
#pragma once

#include "ckgen/platform/tma.hpp"

namespace ckgen::pipeline {

// A role's position among the barriers of the stages. Each stage has a full barrier, which TMA completes when the
// stage's bytes have arrived, and an empty barrier, at which the math role arrives when it no longer reads the stage.
// Each role has its own copy and advances it once per stage. The math role waits for the full barrier with `parity`,
// the load role for the empty barrier with `parity ^ 1`.
struct StageBarriers {
    static constexpr int stage_barrier_bytes = 16;

    uint32 barriers;  // of the first stage
    int32 stages;
    int32 stage = 0;
    int32 parity = 0;

    CKGEN_DEVICE uint32 full() const { return barriers + static_cast<uint32>(stage * stage_barrier_bytes); }
    CKGEN_DEVICE uint32 empty() const { return full() + 8; }

    CKGEN_DEVICE void next() {
        if(++stage == stages) {
            stage = 0;
            parity ^= 1;
        }
    }
    CKGEN_DEVICE void skip(int count) {
        const int rounds = (stage + count) / stages;
        stage += count - rounds * stages;
        parity ^= rounds & 1;
    }

    // One thread initialises the barriers of all stages; platform::fence_mbarrier_init() and a barrier of the workgroup
    // follow.
    CKGEN_DEVICE void init(int full_arrivals, int empty_arrivals) const {
        for(StageBarriers each{barriers, stages}; each.parity == 0; each.next()) {
            platform::mbarrier_init(each.full(), full_arrivals);
            platform::mbarrier_init(each.empty(), empty_arrivals);
        }
    }
};

// Each warp whose threads call it signals at a stage's empty barrier that it no longer reads the stage. `id` counts the
// threads of whole warps.
CKGEN_DEVICE void release_by_warps(uint32 empty, int id) {
    platform::sync_warp();
    if(id % 32 == 0)
        platform::mbarrier_arrive(empty);
}

// Barriers of stages that follow each other in shared memory.
struct StageRing : StageBarriers {
    uint32 base;        // of the first stage
    int32 stage_bytes;  // from a stage to the next

    CKGEN_DEVICE StageRing(uint32 first_stage, int32 bytes, int32 count, uint32 first_barrier)
        : StageBarriers{first_barrier, count}, base(first_stage), stage_bytes(bytes) {}

    CKGEN_DEVICE uint32 data() const { return base + static_cast<uint32>(stage * stage_bytes); }
};

}  // namespace ckgen::pipeline
