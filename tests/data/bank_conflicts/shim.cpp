// Functions for tests/support/bank_conflicts.py: the host platform's count of LDS bank conflicts.
#include <algorithm>
#include <cstring>

#include "ckgen/platform/host_bank_conflicts.hpp"

namespace {

using namespace ckgen;

const platform::BankRules* rules_of(const char* arch) {
    const auto* const last = std::end(platform::kBankRules);
    return std::find_if(std::begin(platform::kBankRules), last,
                        [&](const platform::BankRules& rules) { return std::strcmp(rules.arch, arch) == 0; });
}

}  // namespace

extern "C" {

void count_bank_conflicts(const char* arch) { platform::count_bank_conflicts(rules_of(arch)); }

// Lines of: file, line, whether it writes, bytes per lane, accesses, cycles, cycles of conflicts.
const char* bank_conflicts(void) {
    static std::string text;
    text.clear();
    for(const platform::BankCount& count : platform::bank_conflicts()) {
        const std::string file = count.site.file;
        text += file.substr(file.rfind("ckgen/") + 6) + " " + std::to_string(count.site.line);
        for(const int64 number :
            {int64{count.write}, int64{count.bytes}, count.accesses, count.cycles, count.conflict_cycles})
            text += " " + std::to_string(number);
        text += "\n";
    }
    return text.c_str();
}

// The cycles of one access of a wave, and how few they can be.
void bank_cycles(const char* arch, const int* offsets, int bytes, int write, int* used, int* least) {
    platform::LaneOffsets lanes;
    std::copy_n(offsets, lanes.size(), lanes.begin());
    const platform::BankCycles cycles = platform::bank_cycles(*rules_of(arch), lanes, bytes, write != 0);
    *used = cycles.used;
    *least = cycles.least;
}
}
