// Copied by ckgen from templates/include/ckgen/platform/platform.hpp. Do not edit; run: ckgen generate
// The platform an instance library is built for. Exactly one of CKGEN_PLATFORM_{HOST,AMD,NVIDIA} is 1 (ckgen/config.h).
//
// Every platform offers to kernels:
// clang-format off
//   Thread             one GPU thread: thread_id(), block_id(), barrier(), LDS access, matrix collectives;
//                      gather() and ballot() between the lanes of its kExchangeLanes;
//                      lds_load_transposed() if kTransposingLds.
//                      reload_kernel_args(), rematerialize() and pin() only control which values are in registers,
//                      schedule_boundary() and interleave() only the order of instructions
//   merge_halves()     the low or the high halves of two words as one word
//   spread_signs()     each half of a word as its highest bit, sixteen times
//   GlobalBuffer       a bounded window of global memory: loads past its end return zero, like AMD's raw buffers
//                      load_if() loads from inside, or returns zero
//   kInvalidOffset     a byte offset past the end of every window
//   kDirectLds         true if GlobalBuffer::load_to_lds() exists: it loads 16 bytes per lane from global memory to
//                      consecutive bytes of LDS; Thread::await_loads() waits for them
//   kUnalignedLoads    true if a load of several words may begin at any multiple of an element's size
//   kLaneMasks         true if a branch on which the lanes of a wave differ keeps a mask of lanes in scalar registers:
//                      then nested branches spill
//   kLoadedHalves      number of LDS ring halves that a load wave holds in registers before it writes them, 1 or 2
//   pdl_wait()         waits for the end of the previous kernel; see WaitsForPrevious in platform/kernel_traits.hpp
//   pdl_launch_dependents()
//                      lets the next kernel begin when all workgroups have called it
// and to host code (not in a device pass):
//   launch<Kernel>()   starts a grid, throws LaunchError
//   compute_units()    number of compute units of the current device
//   kernel_reason()    why the current device cannot run a kernel, "[rule] ...", or empty
//   current_device()   the number of this thread's device
// clang-format on
#pragma once

#if !defined(CKGEN_DEVICE_ONLY)
#include "ckgen/config.h"
#endif
#include "ckgen/platform/kernel_traits.hpp"
#include "ckgen/types.hpp"

namespace ckgen::platform {
// Windows are below 2 GiB, so any offset with the top bit set is outside.
inline constexpr uint32 kInvalidOffset = 0x80000000u;
inline constexpr uint32 kMaxWindowBytes = 0x7ffffff0u;
inline constexpr int kWaveSize = 64;
}  // namespace ckgen::platform

#if defined(CKGEN_PLATFORM_HOST) && CKGEN_PLATFORM_HOST
#include "ckgen/platform/host.hpp"
#elif defined(CKGEN_PLATFORM_AMD) && CKGEN_PLATFORM_AMD
#include "ckgen/platform/amd.hpp"
#if !CKGEN_DEVICE_PASS
#include "ckgen/platform/amd_runtime.hpp"
#endif
#elif defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
#include "ckgen/platform/nvidia.hpp"
#if !CKGEN_DEVICE_PASS
#include "ckgen/platform/nvidia_runtime.hpp"
#endif
#else
#error "ckgen: no platform chosen; define CKGEN_PLATFORM_HOST, _AMD or _NVIDIA as 1 (ckgen/config.h does)"
#endif
