// Copied by ckgen from templates/include/ckgen/platform/kernel_traits.hpp. Do not edit; run: ckgen generate
// Optional members by which a kernel type says how it is launched.
#pragma once

namespace ckgen::platform {

// True for kernels that say `overlaps_previous`: they may begin before the kernel ahead of them has ended.
template <class Kernel, class = void>
struct OverlapsPrevious {
    static constexpr bool value = false;
};
template <class Kernel>
struct OverlapsPrevious<Kernel, decltype(static_cast<void>(Kernel::overlaps_previous))> {
    static constexpr bool value = Kernel::overlaps_previous;
};

// True for kernels with a fixup: needs_fixup(args) says whether all workgroups are to run fixup() when all have run the
// rest. run() does that itself after a barrier of the grid, where the platform has one.
template <class Kernel, class = void>
struct HasFixup {
    static constexpr bool value = false;
};
template <class Kernel>
struct HasFixup<Kernel, decltype(static_cast<void>(&Kernel::needs_fixup))> {
    static constexpr bool value = true;
};

// Workgroups of a kernel that a multiprocessor is to hold at once, if it says: registers are shared out accordingly.
template <class Kernel, class = void>
struct Resident {
    static constexpr int value = Kernel::lds_bytes > 100 * 1024 ? 1 : 0;
};
template <class Kernel>
struct Resident<Kernel, decltype(static_cast<void>(Kernel::resident))> {
    static constexpr int value = Kernel::resident;
};

// True for kernels that say `gpu_only`: the host platform has their plans alone, and says so.
template <class Kernel, class = void>
struct GpuOnly {
    static constexpr bool value = false;
};
template <class Kernel>
struct GpuOnly<Kernel, decltype(static_cast<void>(Kernel::gpu_only))> {
    static constexpr bool value = Kernel::gpu_only;
};
}  // namespace ckgen::platform
