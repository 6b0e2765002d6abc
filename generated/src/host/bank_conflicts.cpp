// Copied by ckgen from templates/src/host/bank_conflicts.cpp. Do not edit; run: ckgen generate
// The host platform's count of LDS bank conflicts.
#include <algorithm>
#include <mutex>

#include "ckgen/platform/host_bank_conflicts.hpp"
#include "ckgen/platform/process_mutex.hpp"

namespace ckgen::platform {
namespace {

constexpr int kWordBytes = 4;
constexpr int kWriteBanks = 32;
constexpr int kPhaseBytes = 128;
constexpr int kWidestBytes = 16;
constexpr int kHalfWave = kWaveSize / 2;

// Guarded by the process's mutex.
const BankRules* chosen_rules = nullptr;
std::vector<BankCount> all_counts;

int phase_of(const BankRules& rules, int lane, int bytes, bool write) {
    if(write || bytes != kWidestBytes)
        return lane * std::max(bytes, kWordBytes) / kPhaseBytes;
    return lane / kHalfWave * kWaveSize + rules.wide_read_phase[lane % kHalfWave / 4];
}

// The number of words that the busiest bank has to deliver to the lanes of a phase.
int cycles_of(std::vector<int>& words, int banks) {
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    int most = 0;
    std::vector<int> wanted(static_cast<size_t>(banks));
    for(const int word : words)
        most = std::max(most, ++wanted[static_cast<size_t>(word % banks)]);
    return most;
}

void merge(std::vector<BankCount>& into, const BankCount& count) {
    const auto same = [&](const BankCount& other) {
        return other.site.line == count.site.line && std::string(other.site.file) == count.site.file &&
               other.write == count.write && other.bytes == count.bytes;
    };
    const auto found = std::find_if(into.begin(), into.end(), same);
    if(found == into.end()) {
        into.push_back(count);
        return;
    }
    found->accesses += count.accesses;
    found->cycles += count.cycles;
    found->conflict_cycles += count.conflict_cycles;
}

}  // namespace

BankCycles bank_cycles(const BankRules& rules, const LaneOffsets& offsets, int bytes, bool write) {
    std::vector<std::vector<int>> phases(2 * kWaveSize);
    for(int lane = 0; lane < kWaveSize; ++lane) {
        const int offset = offsets[static_cast<size_t>(lane)];
        for(int word = offset / kWordBytes; offset >= 0 && word <= (offset + bytes - 1) / kWordBytes; ++word)
            phases[static_cast<size_t>(phase_of(rules, lane, bytes, write))].push_back(word);
    }
    BankCycles cycles;
    for(std::vector<int>& words : phases)
        if(!words.empty()) {
            cycles.used += cycles_of(words, write ? kWriteBanks : rules.read_banks);
            ++cycles.least;
        }
    return cycles;
}

void count_bank_conflicts(const BankRules* rules) {
    const std::lock_guard<std::mutex> lock(process_mutex());
    chosen_rules = rules;
    all_counts.clear();
}

std::vector<BankCount> bank_conflicts() {
    const std::lock_guard<std::mutex> lock(process_mutex());
    return all_counts;
}

void BankCounter::prepare(int threads) {
    {
        const std::lock_guard<std::mutex> lock(process_mutex());
        rules_ = chosen_rules;
    }
    waves_.assign(active() ? static_cast<size_t>((threads + kWaveSize - 1) / kWaveSize) : 0, {});
    counts_.clear();
}

BankCounter::Line& BankCounter::line_of(std::vector<Line>& lines, int bytes, bool write, Site site) {
    for(Line& line : lines)
        if(line.site.line == site.line && line.site.file == site.file && line.write == write && line.bytes == bytes)
            return line;
    Line made;
    made.site = site;
    made.write = write;
    made.bytes = bytes;
    lines.push_back(made);
    return lines.back();
}

void BankCounter::add(int thread, int offset, int bytes, bool write, Site site) {
    if(bytes > kWidestBytes || kPhaseBytes % bytes != 0)
        throw HostError("no rule says how LDS banks work off " + std::to_string(bytes) + " bytes per lane");
    Line& line = line_of(waves_[static_cast<size_t>(thread / kWaveSize)], bytes, write, site);
    const auto lane = static_cast<size_t>(thread % kWaveSize);
    const size_t turn = line.turns[lane]++ - line.closed;
    if(turn == line.open.size()) {
        line.open.emplace_back().fill(-1);
        line.missing.push_back(kWaveSize);
    }
    line.open[turn][lane] = offset;
    if(--line.missing[turn] == 0 && turn == 0)
        close_first(line);
}

void BankCounter::close_first(Line& line) {
    const BankCycles cycles = bank_cycles(*rules_, line.open.front(), line.bytes, line.write);
    merge(counts_, {line.site, line.write, line.bytes, 1, cycles.used, cycles.used - cycles.least});
    line.open.pop_front();
    line.missing.pop_front();
    ++line.closed;
}

void BankCounter::meet() {
    for(std::vector<Line>& lines : waves_)
        for(Line& line : lines) {
            while(!line.open.empty())
                close_first(line);
            line.turns.fill(line.closed);
        }
}

void BankCounter::finish() {
    meet();
    const std::lock_guard<std::mutex> lock(process_mutex());
    for(const BankCount& count : counts_)
        merge(all_counts, count);
    counts_.clear();
}

}  // namespace ckgen::platform
