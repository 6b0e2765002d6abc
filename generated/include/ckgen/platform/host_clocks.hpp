// Copied by ckgen from templates/include/ckgen/platform/host_clocks.hpp. Do not edit; run: ckgen generate
// Vector clocks: record which operations on LDS each thread knows to be complete. They serve kernels whose threads
// synchronise by other means than the workgroup's barrier. Mattern, "Virtual time and global states of distributed
// systems", 1989; their use to find races: Flanagan and Freund, "FastTrack", 2009.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "ckgen/types.hpp"

namespace ckgen::platform {

// Everything that accesses LDS: threads; warps whose lanes load matrices together; the copies that an mbarrier counts;
// and the matrix unit of a warpgroup, which reads its operands some time after the instruction was issued.
struct Agents {
    static constexpr int kWarp = 32;
    static constexpr int kWarpgroup = 128;
    static constexpr int kMaxBarriers = 64;
    int threads = 0;

    int warps() const { return (threads + kWarp - 1) / kWarp; }
    int warpgroups() const { return (threads + kWarpgroup - 1) / kWarpgroup; }
    int warp(int thread) const { return threads + thread / kWarp; }
    int warpgroup(int thread) const { return threads + warps() + thread / kWarpgroup; }
    int mbarrier(int index) const { return threads + warps() + warpgroups() + index; }
    int count() const { return mbarrier(kMaxBarriers); }
    // Agents from this number on are asynchronous: a workgroup's barrier does not wait for them.
    int first_asynchronous() const { return threads + warps(); }

    std::string name(int agent) const {
        const auto number = [](int value) { return std::to_string(value); };
        if(agent < threads)
            return "wave " + number(agent / 64) + " lane " + number(agent % 64);
        if(agent < first_asynchronous())
            return "warp " + number(agent - threads);
        if(agent < mbarrier(0))
            return "the matrix unit of warpgroup " + number(agent - first_asynchronous());
        return "a copy";
    }
};

class Clocks {
public:
    using Row = std::vector<uint32>;

    // Starts without clocks: only the workgroup's barrier orders operations.
    void reset(int threads) {
        agents_.threads = threads;
        active_ = false;
    }
    void start() {
        if(active_)
            return;
        active_ = true;
        now_.assign(static_cast<size_t>(agents_.count()), 1);
        rows_.assign(static_cast<size_t>(agents_.threads) * now_.size(), 0);
        published_.assign(now_.size(), 0);
    }

    bool active() const { return active_; }
    const Agents& agents() const { return agents_; }
    // The time of an agent's next operation.
    uint32 now(int agent) const { return active_ ? now_[static_cast<size_t>(agent)] : 1; }
    // Knowledge of a thread: for each agent the time up to which its operations are complete. Null: the thread knows
    // nothing about other agents.
    const uint32* row(int thread) const { return active_ ? data(thread) : nullptr; }
    // Present knowledge of a thread, including its own operations so far.
    Row snapshot(int thread) {
        Row known(data(thread), data(thread) + now_.size());
        known[static_cast<size_t>(thread)] = now_[static_cast<size_t>(thread)]++;
        return known;
    }
    // Knowledge that all threads first .. first + count - 1 have in common.
    void common(int first, int count, Row& known) const {
        known.assign(data(first), data(first) + now_.size());
        for(int thread = first + 1; thread < first + count; ++thread)
            for(size_t agent = 0; agent < known.size(); ++agent)
                known[agent] = std::min(known[agent], data(thread)[agent]);
    }

    void acquire(int thread, const Row& from) { merge(data(thread), from.data()); }
    void release(int thread, Row& into) {
        into.resize(now_.size());
        merge(into.data(), data(thread));
        into[static_cast<size_t>(thread)] = now_[static_cast<size_t>(thread)]++;
    }
    // Threads first .. first + count - 1 have met and share their knowledge.
    void meet(int first, int count) {
        std::vector<int> threads;
        for(int thread = first; thread < first + count; ++thread)
            threads.push_back(thread);
        meet(threads);
    }
    void meet(const std::vector<int>& threads) {
        Row all(now_.size());
        for(const int thread : threads)
            release(thread, all);
        for(const int thread : threads)
            acquire(thread, all);
    }
    // All threads have met at the workgroup's barrier, which orders their own operations without clocks.
    void share_asynchronous() {
        const auto from = static_cast<size_t>(agents_.first_asynchronous());
        Row all(now_.size());
        for(int thread = 0; thread < agents_.threads; ++thread)
            for(size_t agent = from; agent < all.size(); ++agent)
                all[agent] = std::max(all[agent], data(thread)[agent]);
        for(int thread = 0; thread < agents_.threads; ++thread)
            std::copy(all.begin() + static_cast<std::ptrdiff_t>(from), all.end(), data(thread) + from);
    }

    // Records an operation of a warp and returns its time; each of the warp's lanes then knows that it is complete.
    uint32 warp_operation(int lane) {
        const int agent = agents_.warp(lane);
        const uint32 time = ++now_[static_cast<size_t>(agent)];
        const int first = lane / Agents::kWarp * Agents::kWarp;
        for(int each = first; each < std::min(first + Agents::kWarp, agents_.threads); ++each)
            data(each)[agent] = time;
        return time;
    }
    void learn(int thread, int agent, uint32 time) {
        uint32& known = data(thread)[agent];
        known = std::max(known, time);
    }

    // Makes earlier stores of a thread visible to copies and matrix units.
    void publish(int thread) { published_[static_cast<size_t>(thread)] = now_[static_cast<size_t>(thread)]++; }
    bool published(int thread, uint32 time) const { return published_[static_cast<size_t>(thread)] >= time; }

private:
    uint32* data(int thread) { return rows_.data() + static_cast<size_t>(thread) * now_.size(); }
    const uint32* data(int thread) const { return rows_.data() + static_cast<size_t>(thread) * now_.size(); }
    void merge(uint32* into, const uint32* from) const {
        for(size_t agent = 0; agent < now_.size(); ++agent)
            into[agent] = std::max(into[agent], from[agent]);
    }

    Agents agents_;
    bool active_ = false;
    Row now_, rows_, published_;
};

}  // namespace ckgen::platform
