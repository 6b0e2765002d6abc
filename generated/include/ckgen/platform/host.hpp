// Copied by ckgen from templates/include/ckgen/platform/host.hpp. Do not edit; run: ckgen generate
// Host platform: a workgroup's threads are fibers on one OS thread, LDS is a checked buffer, barriers switch fibers.
// Errors that a GPU hides throw HostError here, with the source lines involved: an LDS race, an LDS access out of
// bounds, an LDS read of bytes that nobody wrote, a barrier that some threads skip, a global access outside the
// tensors, or while the previous kernel may still run. Hopper's asynchronous copies and matrix units are in
// platform/host_tma.hpp and atom/wgmma.hpp. They complete as late, or in as random an order, as the instruction set
// allows, and check their operands. The engine is templates/src/host/*.cpp; kernels use this header only.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "ckgen/platform/kernel_traits.hpp"
#include "ckgen/types.hpp"

namespace ckgen::platform {

using Stream = void*;

// Half a wave if the portable atom replaces hardware whose waves are half as wide.
#if defined(CKGEN_HOST_PORTABLE_ATOM) && CKGEN_HOST_PORTABLE_ATOM
inline constexpr int kExchangeLanes = 32;
#else
inline constexpr int kExchangeLanes = 64;
#endif

class LaunchError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};
class HostError : public LaunchError {
    using LaunchError::LaunchError;
};

// The source line of an access in the kernel; reports quote it.
struct Site {
    const char* file = nullptr;
    int line = 0;
    static Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};

// Global memory that a launch may access. Reports quote `name`.
struct Region {
    const char* name;
    const char* begin;
    int64 bytes;
    bool writable;
};
using Regions = std::vector<Region>;

// Like gfx950 if the build requests it, else like the other architectures with matrix cores.
#if defined(CKGEN_HOST_TRANSPOSING_LDS) && CKGEN_HOST_TRANSPOSING_LDS
inline constexpr bool kTransposingLds = true;
#else
inline constexpr bool kTransposingLds = false;
#endif

inline constexpr bool kDirectLds = kTransposingLds;
inline constexpr bool kUnalignedLoads = true;
inline constexpr bool kLaneMasks = true;  // as on AMD
inline constexpr int kLoadedHalves = 2;   // as on AMD

// The low (or high) halves of two words as one word, the half of `a` in its low half.
template <bool High>
uint32 merge_halves(uint32 a, uint32 b) {
    return High ? (a >> 16) | (b & 0xffff0000u) : (a & 0xffffu) | (b << 16);
}

// Each half becomes its highest bit, sixteen times.
inline uint32 spread_signs(uint32 halves) { return (halves >> 15 & 0x00010001u) * 0xffffu; }

class Workgroup;  // the engine

class Thread {
public:
    // `first`: number of the workgroup's first thread among those of its cluster.
    Thread(Workgroup& group, int id, int first) : group_(&group), id_(id), first_(first) {}

    int thread_id() const { return id_ - first_; }
    uint32 block_id() const;
    uint32 grid_size() const;
    int uniform(int value) const { return value; }
    int rematerialize(int value) const { return value; }
    int pin(int value) const { return value; }
    void schedule_boundary() const {}
    template <int>
    void priority() const {}
    void await_loads() const {}
    template <int Steps, int Reads, int Matrix>
    void interleave() const {}
    template <class Args>
    const Args& reload_kernel_args(const Args& args) const {
        return args;
    }

    void barrier(Site site = Site::here()) const;

    template <class V>
    V lds_load(int byte_offset, Site site = Site::here()) const {
        V value;
        std::memcpy(&value, lds(byte_offset, sizeof(V), false, site), sizeof(V));
        return value;
    }
    // Each of 16 lanes gives two addresses of 8 bytes; the 8 bytes of four lanes are a row of 16 columns. A lane gets
    // one column of the four rows at `first` and of the four rows at `second`.
    template <class V>
    V lds_load_transposed(int first, int second, Site site = Site::here()) const {
        TransposeLane mine{{lds_load<Vec<uint16, 4>>(first, site), lds_load<Vec<uint16, 4>>(second, site)}, {}};
        collective(&mine, &TransposeLane::execute, site);
        return __builtin_bit_cast(V, mine.columns);
    }
    template <class V>
    void lds_store(int byte_offset, const V& value, Site site = Site::here()) const {
        std::memcpy(lds(byte_offset, sizeof(V), true, site), &value, sizeof(V));
    }
    template <class V>
    V global_load(const void* address, Site site = Site::here()) const {
        check_global(address, sizeof(V), false, site);
        V value;
        std::memcpy(&value, address, sizeof(V));
        return value;
    }
    template <class V>
    void global_store(void* address, const V& value, Site site = Site::here()) const {
        check_global(address, sizeof(V), true, site);
        std::memcpy(address, &value, sizeof(V));
    }

    // result[i] = value of lane `first` + i of this thread's Lanes.
    template <int Lanes = kExchangeLanes, int Count>
    void gather(int32 value, int first, int32 (&result)[Count], Site site = Site::here()) const {
        GatherLane mine{value, first, Count, result, Lanes};
        exchange(&mine, &GatherLane::execute, Lanes, site);
    }
    // Bit i: the predicate of lane i of this thread's Lanes.
    template <int Lanes = kExchangeLanes>
    uint64 ballot(bool predicate, Site site = Site::here()) const {
        BallotLane mine{predicate, 0, Lanes};
        exchange(&mine, &BallotLane::execute, Lanes, site);
        return mine.result;
    }

    // Runs `execute(payloads)` once for the 64 lanes of this wave, when all lanes have arrived with their payload.
    // Matrix instructions read the registers of every lane in this way.
    void collective(void* payload, void (*execute)(void* const* payloads), Site site = Site::here()) const;

    void check_global(const void* address, int bytes, bool write, Site site) const;
    // The previous kernel may still run: until this thread calls pdl_wait(), its accesses of global memory are
    // reported.
    void begin_early() const;

private:
    struct GatherLane {
        int32 value;
        int first, count;
        int32* result;
        int lanes;
        static void execute(void* const* lanes);
    };
    struct TransposeLane {
        Vec<uint16, 4> quarter_rows[2];
        Vec<uint16, 8> columns;
        static void execute(void* const* lanes);
    };
    struct BallotLane {
        bool predicate;
        uint64 result;
        int lanes;
        static void execute(void* const* lanes);
    };
    void exchange(void* payload, void (*execute)(void* const* payloads), int lanes, Site site) const;
    char* lds(int byte_offset, int bytes, bool write, Site site) const;
    Workgroup* group_;
    int id_, first_;
};

void pdl_wait();
inline void pdl_launch_dependents() {}

// A window of global memory. A load at or past `bytes` returns zero, like AMD's raw buffers; a load before that is
// checked against the tensors of the launch.
class GlobalBuffer {
public:
    GlobalBuffer(const void* base, uint32 bytes) : base_(static_cast<const char*>(base)), bytes_(bytes) {}
    template <class V>
    V load(const Thread& thread, uint32 byte_offset, Site site = Site::here()) const {
        V value{};
        if(byte_offset < bytes_) {
            if(bytes_ - byte_offset < sizeof(V))
                return value;
            thread.check_global(base_ + byte_offset, sizeof(V), false, site);
            std::memcpy(&value, base_ + byte_offset, sizeof(V));
        }
        return value;
    }
    // A load from inside the window, or zero.
    template <class V>
    V load_if(const Thread& thread, bool inside, uint32 byte_offset, Site site = Site::here()) const {
        return inside ? load<V>(thread, byte_offset, site) : V{};
    }
    // Loads 16 bytes per lane: lane 0 to LDS byte `first`, the next lanes after it.
    void load_to_lds(const Thread& thread, uint32 byte_offset, int first, Site site = Site::here()) const {
        constexpr int wave_lanes = 64;
        thread.lds_store(first + thread.thread_id() % wave_lanes * 16, load<Vec<uint32, 4>>(thread, byte_offset, site),
                         site);
    }

private:
    const char* base_;
    uint32 bytes_;
};

using KernelEntry = void (*)(const void* args, Thread& thread);

struct HostOptions {
    uint64 seed = 0;  // 0: waves and lanes run in order; otherwise every round runs in a shuffled order
    int threads = 0;  // OS threads that share the workgroups; 0: one per core
};
HostOptions& host_options();

// Workgroups of a launch, threads and bytes of LDS of each, and workgroups of a cluster.
struct Grid {
    uint32 blocks;
    int threads, lds_bytes, cluster;
};
// Runs the workgroups, with a fiber for each thread; throws HostError with the first report.
void run_grid(KernelEntry entry, const void* args, const Grid& grid, const Regions& regions);

template <class Kernel>
void kernel_entry(const void* args, Thread& thread) {
    if constexpr(WaitsForPrevious<Kernel>::value)
        thread.begin_early();
    Kernel::run(*static_cast<const typename Kernel::Args*>(args), thread);
}

template <class Kernel>
constexpr KernelEntry entry_of() {
    if constexpr(GpuOnly<Kernel>::value)
        return nullptr;
    else
        return &kernel_entry<Kernel>;
}

template <class Kernel>
void fixup_entry(const void* args, Thread& thread) {
    Kernel::fixup(*static_cast<const typename Kernel::Args*>(args), thread);
}

template <class Kernel>
void launch(KernelEntry entry, uint32 blocks, const typename Kernel::Args& args, const Regions& regions, Stream) {
    const Grid grid{blocks, Kernel::launch_threads, Kernel::lds_bytes, ClusterOf<Kernel>::value};
    run_grid(entry, &args, grid, regions);
    if constexpr(HasFixup<Kernel>::value)
        if(Kernel::needs_fixup(args))
            run_grid(&fixup_entry<Kernel>, &args, grid, regions);
}

int compute_units();
inline int current_device() { return 0; }  // the host is one device
// Empty: the host runs every kernel that has an entry, because LDS is memory of the process.
inline std::string kernel_reason(KernelEntry entry, int) {
    return entry != nullptr ? "" : "[host] the host platform does not emulate this kernel; it runs on GPUs alone";
}

inline void* allocate(std::size_t bytes) {
    // 256 bytes, the alignment of hipMalloc.
    return bytes > 0 ? ::operator new(bytes, std::align_val_t{256}) : nullptr;
}
inline void release(void* memory) { ::operator delete(memory, std::align_val_t{256}); }

// Memory for one launch.
class StreamMemory {
public:
    StreamMemory(std::size_t bytes, Stream) : memory_(allocate(bytes)) {}
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;
    ~StreamMemory() { release(memory_); }
    void* get() const { return memory_; }

private:
    void* memory_;
};

inline void copy_to_device(void* device, const void* host, std::size_t bytes) { std::memcpy(device, host, bytes); }
inline void copy_from_device(void* host, const void* device, std::size_t bytes) { std::memcpy(host, device, bytes); }
inline void synchronize(Stream) {}        // a launch returns when it is complete
inline int use_device(int) { return 0; }  // the host is one device

float elapsed_milliseconds(void (*call)(void*), void* context, int repeats);

// Average milliseconds of one call of `work`, over `repeats` calls. One warm-up suffices without a clock that ramps up.
// `repeats` is capped: the host platform verifies results, it is not a benchmark.
template <class Work>
float time_milliseconds(Stream, int warm_ups, int repeats, const Work& work) {
    if(warm_ups > 0)
        work();
    const auto call = [](void* context) { (*static_cast<const Work*>(context))(); };
    return elapsed_milliseconds(call, const_cast<Work*>(&work), repeats < 3 ? repeats : 3);
}

}  // namespace ckgen::platform

// Defines entry_SYMBOL(), which returns a kernel type (Args, launch_threads, lds_bytes, run) for launch().
#define CKGEN_DEFINE_KERNEL(SYMBOL, ...)                                                                               \
    inline ::ckgen::platform::KernelEntry entry_##SYMBOL() { return ::ckgen::platform::entry_of<__VA_ARGS__>(); }
