// Copied by ckgen from templates/include/ckgen/platform/host_bank_conflicts.hpp. Do not edit; run: ckgen generate
// LDS bank conflicts on the host platform: counts the cycles that the accesses of a kernel's waves take in the LDS of
// an architecture. The accesses of a wave's lanes belong together if they are the same occurrence of one source line in
// each lane, counted from the workgroup's last barrier. Lanes that skip an iteration which other lanes execute would be
// matched wrongly; no kernel here does that. Asynchronous copies and matrix units do not count.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "ckgen/platform/platform.hpp"

namespace ckgen::platform {

// An access is executed in phases, each with some of the lanes. In a phase a bank delivers one word of 4 bytes; lanes
// that need the same word share it. With 32 banks a phase has 32 lanes of 4 bytes, 16 of 8 or 8 of 16, in order, except
// for reads of 16 bytes per lane.
struct BankRules {
    const char* arch;
    int read_banks;
    int wide_read_phase[8];  // phase of each four lanes of half a wave, for reads of 16 bytes per lane
};

// AMD: "Avoiding LDS bank conflicts on AMD GPUs using CK-Tile" (rocm.blogs.amd.com), and ROCm's CK-Tile documentation,
// "LDS bank conflicts". gfx950: Hu et al., "HipKittens: Fast and Furious AMD Kernels", arXiv 2511.08083, measured on
// MI355X. NVIDIA: CUDA C++ programming guide, "Shared Memory" of compute capability 9.0; a wave is two warps, and
// eight lanes are the rows of one matrix of ldmatrix.
inline constexpr BankRules kBankRules[] = {
    {"gfx90a", 32, {0, 1, 2, 3, 1, 0, 3, 2}},
    {"gfx942", 32, {0, 1, 2, 3, 1, 0, 3, 2}},
    {"gfx950", 64, {0, 1, 1, 0, 1, 0, 0, 1}},
    {"sm_90a", 32, {0, 0, 1, 1, 2, 2, 3, 3}},
};

// One LDS instruction of a wave: each lane's first byte, or -1 for lanes that take no part.
using LaneOffsets = std::array<int, kWaveSize>;

struct BankCycles {
    int used = 0;
    int least = 0;  // without conflicts
};
BankCycles bank_cycles(const BankRules& rules, const LaneOffsets& offsets, int bytes, bool write);

// The accesses of one source line of a kernel.
struct BankCount {
    Site site;
    bool write;
    int bytes;  // per lane
    int64 accesses, cycles, conflict_cycles;
};

// Counts the following launches by the rules of an architecture; null stops counting. Earlier counts are dropped.
void count_bank_conflicts(const BankRules* rules);
// The counts of all launches since then.
std::vector<BankCount> bank_conflicts();

// The accesses of a workgroup's waves. Internal to the host platform's engine.
class BankCounter {
public:
    // A launch of this many threads begins.
    void prepare(int threads);
    bool active() const { return rules_ != nullptr; }
    void add(int thread, int offset, int bytes, bool write, Site site);
    // All threads have met: later operations of lanes belong to new accesses.
    void meet();
    // The launch ends: its counts become visible.
    void finish();

private:
    // The accesses of a wave's lanes at one source line. Accesses that some lanes have not reached yet are open.
    struct Line {
        Site site;
        bool write;
        int bytes;
        std::array<size_t, kWaveSize> turns{};
        size_t closed = 0;
        std::deque<LaneOffsets> open;
        std::deque<int> missing;
    };
    Line& line_of(std::vector<Line>& lines, int bytes, bool write, Site site);
    void close_first(Line& line);

    const BankRules* rules_ = nullptr;
    std::vector<std::vector<Line>> waves_;
    std::vector<BankCount> counts_;
};

}  // namespace ckgen::platform
