// Copied by ckgen from templates/include/ckgen/platform/tma.hpp. Do not edit; run: ckgen generate
// TMA loads, mbarriers and the other Hopper instructions that kernels use in addition to Thread, on the platforms that
// have them: nvidia (sm_90a) and host. Both have the same functions; addresses are shared-memory byte addresses. A
// kernel's arguments hold a TensorMap, which platform/tensor_map.hpp makes.
#pragma once

#include "ckgen/platform/platform.hpp"

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/platform/host_tma.hpp"
#elif defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
#include "ckgen/platform/nvidia_tma.hpp"
#else
#error "ckgen: this platform has no TMA loads"
#endif
