// Copied by ckgen from templates/include/ckgen/platform/runtime.hpp. Do not edit; run: ckgen generate
// The host side of the platform, for code that launches kernels or owns device memory. Kernels include platform.hpp,
// which omits this header in device passes to save compile time; a client's .hip or .cu file needs it in all passes.
#pragma once

#include "ckgen/platform/platform.hpp"

#if CKGEN_PLATFORM_AMD
#include "ckgen/platform/amd_runtime.hpp"
#elif CKGEN_PLATFORM_NVIDIA
#include "ckgen/platform/nvidia_runtime.hpp"
#endif
