// One warp's m16n8k16 and m16n8k8: its lanes, and the multiplication on the current platform.
#pragma once

#include "ckgen/atom/warp_mma_lanes.hpp"

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/atom/warp_mma_host.hpp"
#else
#include "ckgen/atom/mma_sync.hpp"
#endif
