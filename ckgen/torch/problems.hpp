// Decides which new problems Python plans at once, where sizes of images or sequences vary.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "plan.hpp"

namespace ckgen_torch {

struct Hash {
    size_t operator()(const Words& words) const {
        uint64_t hash = 0x9e3779b97f4a7c15u;
        for(const int64_t word : words)
            hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccdu, hash ^= hash >> 32;
        return hash;
    }
};

// The problems of a planner that compares times, which takes a hundred times as long as a gradient or more. Where sizes
// vary, each step has new problems. The first kAtOnce of a layer are planned at once; others when they come again, and
// only while their planning takes less than one part in kShare of the time since then. PyTorch computes the rest.
class Problems {
public:
    using Clock = std::chrono::steady_clock;

    // True if a problem that has no plan is to be planned now. Its layer is the first words of its key.
    bool admit(const Words& key, size_t layer_words, Clock::time_point now) {
        auto& known = layers_[Words(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(layer_words))];
        if(known.size() >= kMost)
            known.clear();
        const bool again = !known.insert(Hash{}(key)).second;
        if(known.size() <= kAtOnce)
            return true;
        if(!since_)
            since_ = now;
        return again && spent_ * kShare <= now - *since_;
    }

    // Count the time that a planning took.
    void count(Clock::duration taken) {
        if(since_)
            spent_ += taken;
    }

private:
    static constexpr size_t kAtOnce = 16;  // a head on five levels of a pyramid has ten for two sizes of batches
    static constexpr size_t kMost = 1 << 14;
    static constexpr int kShare = 20;
    std::unordered_map<Words, std::unordered_set<size_t>, Hash> layers_;  // hashes of the keys of their problems
    std::optional<Clock::time_point> since_;                              // the first problem that had to wait
    Clock::duration spent_{};
};

}  // namespace ckgen_torch
