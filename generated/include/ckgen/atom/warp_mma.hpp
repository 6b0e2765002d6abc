// Copied by ckgen from templates/include/ckgen/atom/warp_mma.hpp. Do not edit; run: ckgen generate
// One warp's m16n8k16 and m16n8k8: its lanes, and the multiplication on the current platform.
#pragma once

#include "ckgen/atom/warp_mma_lanes.hpp"

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/atom/warp_mma_host.hpp"
#else
#include "ckgen/atom/mma_instructions.hpp"
#endif

namespace ckgen::atom {

// The low (which = 0) or high halves of two words as one word: a pair of elements of a fragment.
CKGEN_DEVICE uint32 half_of(int which, uint32 a, uint32 b) {
    return which == 0 ? platform::merge_halves<false>(a, b) : platform::merge_halves<true>(a, b);
}

}  // namespace ckgen::atom
