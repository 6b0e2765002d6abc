// Copied by ckgen from templates/include/ckgen/platform/host_workgroup.hpp. Do not edit; run: ckgen generate
// The host platform's engine: a workgroup whose threads are fibers, or a cluster of workgroups, whose fibers and LDS
// follow each other. Internal to the runtime's sources and to the atoms that the host executes; kernels see
// platform/host.hpp.
#pragma once

#include <setjmp.h>

#include "ckgen/platform/host_bank_conflicts.hpp"
#include "ckgen/platform/host_lds.hpp"
#include "ckgen/platform/host_matrix_units.hpp"
#include "ckgen/platform/host_stacks.hpp"
#include "ckgen/platform/host_tma_unit.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::platform {

uint64 next_random(uint64& state);

// The clusters of a launch.
inline uint32 clusters_of(const Grid& grid) {
    if(grid.threads % Agents::kWarp != 0)
        throw LaunchError("host platform: " + std::to_string(grid.threads) + " threads are not whole waves of 32");
    const auto size = static_cast<uint32>(grid.cluster);
    if(grid.blocks % size != 0)
        throw LaunchError("host platform: " + std::to_string(grid.blocks) + " workgroups are not whole clusters of " +
                          std::to_string(size));
    return grid.blocks / size;
}

class Workgroup {
public:
    Workgroup() = default;
    Workgroup(const Workgroup&) = delete;
    Workgroup& operator=(const Workgroup&) = delete;

    void prepare(KernelEntry entry, const void* args, const Grid& grid, const Regions& regions, uint64 seed);
    void run(uint32 number);

    // Threads of all workgroups of a cluster.
    int threads() const { return threads_; }
    const Grid& grid() const { return grid_; }
    // A fiber's rank in its cluster, its block, and a byte of its workgroup's LDS in that of the cluster.
    int rank(int id) const { return id / grid_.threads; }
    uint32 block(int id) const { return block_ + static_cast<uint32>(rank(id)); }
    int place(int id, int offset) const { return place_at(rank(id), offset); }
    int place_at(int rank, int offset) const {
        if(grid_.cluster > 1 && (offset < 0 || offset >= grid_.lds_bytes || rank >= grid_.cluster))
            lds.fail("offset " + std::to_string(offset) + " of workgroup " + std::to_string(rank) +
                     " of a cluster is outside the LDS of " + std::to_string(grid_.lds_bytes) + " bytes");
        return rank * grid_.lds_bytes + offset;
    }
    // The workgroup whose fiber this OS thread runs, and the fiber's number.
    static Workgroup& running();
    int current() const { return current_; }
    bool keeps_few_mappings() const { return stacks_.guards_are_free(); }

    // All threads of a cluster meet. A barrier of one of its workgroups is not emulated.
    void barrier(int id, Site site) { wait(id, State::at_barrier, site, 0); }
    // Waits until `threads` threads are at the barrier of this number.
    void named_barrier(int id, int number, int threads, Site site);
    // Runs `execute` once for `lanes` neighbouring threads.
    void collective(int id, void* payload, void (*execute)(void* const*), int lanes, Site site);
    // Sleeps until wake() is called for that mbarrier.
    void wait_for_mbarrier(int id, int index, Site site) { wait(id, State::at_mbarrier, site, index); }
    void wake(int mbarrier);

    CheckedLds lds;
    BankCounter banks;
    TmaUnit copies{*this};
    MatrixUnits matrix{*this};

    // True if global memory at `address` may be accessed; else reports the access.
    bool reaches(const char* address, int bytes, bool write) const {
        for(const Region& region : *regions_)
            if(address >= region.begin && address + bytes <= region.begin + region.bytes && (region.writable || !write))
                return true;
        return false;
    }
    // Thread `id` may access global memory after it has waited for the previous kernel.
    void begin_early(int id) { fibers_[static_cast<size_t>(id)].early = true; }
    void wait_for_previous() { fibers_[static_cast<size_t>(current_)].early = false; }
    void check_early(int id, Site site) const;
    [[noreturn]] void out_of_bounds(const std::string& who, const char* address, int bytes, bool write,
                                    Site site) const;

private:
    enum class State { ready, at_barrier, at_named, at_collective, at_mbarrier, done };

    struct Fiber {
        char* stack = nullptr;
        jmp_buf jump;
        void* fake_stack = nullptr;
        State state = State::done;
        bool started = false;
        bool early = false;  // the previous kernel may still run
        Site site;
        int detail = 0;  // number of the named barrier or mbarrier at which it waits
        void* payload = nullptr;
        void (*execute)(void* const*) = nullptr;
    };

    void add_fibers(int threads);
    bool round();
    bool run_ready();
    bool open_barrier();
    bool wave_diverged() const;
    std::string describe(int id) const;
    std::string describe_waits() const;
    void resume(int id);
    static void trampoline(unsigned high, unsigned low);
    void fiber_main();
    void wait(int id, State state, Site site, int detail);

    KernelEntry entry_ = nullptr;
    const void* args_ = nullptr;
    const Regions* regions_ = nullptr;
    int threads_ = 0;
    uint32 block_ = 0;  // the first of the cluster
    Grid grid_{};
    int current_ = 0;
    uint64 random_ = 0;
    std::string failure_;
    FiberStacks stacks_;
    std::vector<Fiber> fibers_;
    std::vector<int> order_;
    std::vector<int> at_collective_;  // number of threads per warp that wait for their lanes
    jmp_buf scheduler_;
    const void* scheduler_stack_ = nullptr;
    size_t scheduler_stack_bytes_ = 0;
};

}  // namespace ckgen::platform
