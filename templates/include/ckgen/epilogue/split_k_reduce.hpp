// Sums the f32 partials of split-K in a fixed order, so that results are reproducible to the bit, and rounds once.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::epilogue {

struct SplitKReduceArgs {
    const float* partial;  // [split_k][elements]
    char* wei;             // [elements] of the weight type
    int64 elements;
    int32 split_k;
};

// Adds Count slices of the partials, `elements` apart, to `total`; returns the address of the slice after them.
template <int Count, int Width>
CKGEN_DEVICE const float* add_slices(const platform::Thread& thread, const float* source, int64 elements,
                                     Vec<float, Width>& total) {
    Vec<float, Width> values[Count];
    CKGEN_UNROLL
    for(int i = 0; i < Count; ++i)
        values[i] = thread.global_load<Vec<float, Width>>(source + i * elements);
    CKGEN_UNROLL
    for(int i = 0; i < Count; ++i)
        CKGEN_UNROLL
    for(int e = 0; e < Width; ++e)
        total[e] += values[i][e];
    return source + Count * elements;
}

// The sums over all splits from `source` on. Loads of several splits are in flight before the first is added. The order
// of additions is that of the splits for every width.
template <int Width>
CKGEN_DEVICE Vec<float, Width> sum_slices(const platform::Thread& thread, const float* source, int64 elements,
                                          int split_k) {
    constexpr int in_flight = 8;  // a power of two; smaller powers add the rest
    Vec<float, Width> total{};
    for(; split_k >= in_flight; split_k -= in_flight)
        source = add_slices<in_flight>(thread, source, elements, total);
    if(split_k & 4)
        source = add_slices<4>(thread, source, elements, total);
    if(split_k & 2)
        source = add_slices<2>(thread, source, elements, total);
    if(split_k & 1)
        add_slices<1>(thread, source, elements, total);
    return total;
}

// Memory-bound: a thread sums neighbouring elements in loads of 16 bytes.
template <class Wei>
struct SplitKReduceKernel {
    using Args = SplitKReduceArgs;
    static constexpr int launch_threads = 128;
    static constexpr int elements_per_thread = 4;
    static constexpr int elements_per_block = launch_threads * elements_per_thread;
    static constexpr int lds_bytes = 16;  // unused; an empty array would not be C++
    static constexpr bool overlaps_previous = true;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        platform::pdl_wait();
        const int64 first = static_cast<int64>(thread.block_id()) * elements_per_block;
        // A slice of another length is not aligned, and a weight of few channels may have any address.
        const bool whole = args.elements % elements_per_thread == 0 &&
                           reinterpret_cast<uint64>(args.partial) % 16 == 0 &&
                           reinterpret_cast<uint64>(args.wei) % (elements_per_thread * sizeof(Wei)) == 0;
        if(whole) {
            const int64 element = first + thread.thread_id() * elements_per_thread;
            if(element < args.elements)
                sum<elements_per_thread>(args, thread, element);
            return;
        }
        CKGEN_UNROLL
        for(int i = 0; i < elements_per_thread; ++i) {
            const int64 element = first + i * launch_threads + thread.thread_id();
            if(element < args.elements)
                sum<1>(args, thread, element);
        }
    }

private:
    template <int Width>
    static CKGEN_DEVICE void sum(const Args& args, const platform::Thread& thread, int64 element) {
        const Vec<float, Width> total = sum_slices<Width>(thread, args.partial + element, args.elements, args.split_k);
        Vec<Wei, Width> rounded;
        CKGEN_UNROLL
        for(int e = 0; e < Width; ++e)
            rounded[e] = Convert<Wei>::from(total[e]);
        thread.global_store(reinterpret_cast<Wei*>(args.wei) + element, rounded);
    }
};

}  // namespace ckgen::epilogue
