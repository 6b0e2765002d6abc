// Copied by ckgen from templates/include/ckgen/pipeline/depthwise_sums.hpp. Do not edit; run: ckgen generate
// Sums over the threads of a workgroup of family depthwise that has one group: its threads have sums of the same taps.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::pipeline {

// Taps whose sums of all threads fit LDS at once, 4 bytes each.
inline constexpr int kMostSummedTaps = 16;

// Adds `values` over the threads of a unit: thread i has those of unit i % units and counts if i < units * count.
// Returns the total of tap i / units of unit i % units to thread i, if there is one. Several threads add parts of a
// total, then one adds the parts; the order is fixed.
template <int Threads, int Taps>
CKGEN_DEVICE float sum_of_threads(const platform::Thread& thread, int units, int count, const float (&values)[Taps]) {
    static_assert(Taps <= kMostSummedTaps, "the sums fit LDS");
    const int id = thread.thread_id();
    const int totals = Taps * units;
    const int parts = Threads / totals;
    thread.barrier();
    CKGEN_UNROLL
    for(int tap = 0; tap < Taps; ++tap)
        thread.lds_store((tap * Threads + id) * 4, values[tap]);
    thread.barrier();
    const int first = (id % totals) / units * Threads + id % units;
    float sum = 0.f;
    for(int i = id / totals; id < parts * totals && i < count; i += parts)
        sum += thread.template lds_load<float>((first + i * units) * 4);
    thread.barrier();
    thread.lds_store(id * 4, sum);
    thread.barrier();
    for(int i = 1; id < totals && i < parts; ++i)
        sum += thread.template lds_load<float>((i * totals + id) * 4);
    return sum;
}

}  // namespace ckgen::pipeline
