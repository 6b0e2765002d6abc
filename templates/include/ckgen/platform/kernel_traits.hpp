// Optional members of a kernel type that determine how it is launched.
#pragma once

namespace ckgen::platform {

// True for kernels with the member `waits_for_previous`: they may begin before the previous kernel of their stream has
// ended, and run() calls pdl_wait() in all threads before it accesses global memory.
template <class Kernel, class = void>
struct WaitsForPrevious {
    static constexpr bool value = false;
};
template <class Kernel>
struct WaitsForPrevious<Kernel, decltype(static_cast<void>(Kernel::waits_for_previous))> {
    static constexpr bool value = Kernel::waits_for_previous;
};

// True for kernels with a fixup: needs_fixup(args) is true if all workgroups must run fixup() after all have run the
// rest. On platforms with a grid barrier run() calls fixup() itself after that barrier.
template <class Kernel, class = void>
struct HasFixup {
    static constexpr bool value = false;
};
template <class Kernel>
struct HasFixup<Kernel, decltype(static_cast<void>(&Kernel::needs_fixup))> {
    static constexpr bool value = true;
};

// Workgroups of a kernel that a multiprocessor holds at once, if the kernel defines it; it limits registers per thread.
template <class Kernel, class = void>
struct Resident {
    static constexpr int value = Kernel::lds_bytes > 100 * 1024 ? 1 : 0;
};
template <class Kernel>
struct Resident<Kernel, decltype(static_cast<void>(Kernel::resident))> {
    static constexpr int value = Kernel::resident;
};

// Neighbouring workgroups that run at the same time and access each other's shared memory, if the kernel defines it.
// Their number divides that of all workgroups.
template <class Kernel, class = void>
struct ClusterOf {
    static constexpr int value = 1;
};
template <class Kernel>
struct ClusterOf<Kernel, decltype(static_cast<void>(Kernel::cluster))> {
    static constexpr int value = Kernel::cluster;
};

// True for kernels with the member `gpu_only`: the host platform only plans them, and reports that.
template <class Kernel, class = void>
struct GpuOnly {
    static constexpr bool value = false;
};
template <class Kernel>
struct GpuOnly<Kernel, decltype(static_cast<void>(Kernel::gpu_only))> {
    static constexpr bool value = Kernel::gpu_only;
};
}  // namespace ckgen::platform
