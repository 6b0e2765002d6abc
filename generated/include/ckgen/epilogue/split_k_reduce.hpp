// Copied by ckgen from templates/include/ckgen/epilogue/split_k_reduce.hpp. Do not edit; run: ckgen generate
// Sums the partials of split-K, which are f32 or i32, in a fixed order, so that results are reproducible to the bit,
// and rounds once.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::epilogue {

struct SplitKReduceArgs {
    const float* partial;  // [split_k][elements] of the kernel's Sum
    char* wei;             // [elements] of the weight type
    int64 elements;
    int32 split_k;
    int32 width;  // neighbouring elements of a thread: 4 if slices and weight are aligned, else 1
    int32 lanes;  // threads that share the splits of an element, a power of two
};

// Adds Count slices of the partials, `elements` apart, to `total`; returns the address of the slice after them.
template <int Count, int Width, class Sum>
CKGEN_DEVICE const Sum* add_slices(const platform::Thread& thread, const Sum* source, int64 elements,
                                   Vec<Sum, Width>& total) {
    Vec<Sum, Width> values[Count];
    CKGEN_UNROLL
    for(int i = 0; i < Count; ++i)
        values[i] = thread.global_load<Vec<Sum, Width>>(source + i * elements);
    CKGEN_UNROLL
    for(int i = 0; i < Count; ++i)
        CKGEN_UNROLL
    for(int e = 0; e < Width; ++e)
        total[e] += values[i][e];
    return source + Count * elements;
}

// The sums over all splits from `source` on. Loads of several splits are in flight before the first is added. The order
// of additions is that of the splits for every width.
template <int Width, class Sum>
CKGEN_DEVICE Vec<Sum, Width> sum_slices(const platform::Thread& thread, const Sum* source, int64 elements,
                                        int split_k) {
    constexpr int in_flight = 8;  // a power of two; smaller powers add the rest
    Vec<Sum, Width> total{};
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

// Few elements of many splits are summed by several threads each: the lanes of an element, a power of two. Independent
// of widths and addresses, so that sums are too.
inline constexpr int kReduceThreads = 128;
inline constexpr int kMostReduceLanes = 32;
CKGEN_HD int reduce_lanes(int64 elements, int split_k) {
    constexpr int least_share = 16;          // splits that are worth another thread
    constexpr int64 many_threads = 1 << 16;  // fill a GPU
    int lanes = 1;
    while(lanes < kMostReduceLanes && split_k / lanes >= least_share && elements / 4 * lanes < many_threads)
        lanes *= 2;
    return lanes;
}

// Memory-bound: a thread sums neighbouring elements in loads of 16 bytes. The sums of an element's lanes are added in
// the order of their splits. Store: takes (element, total) on the threads that have a complete sum.
template <int Width, class Sum, class Store>
CKGEN_DEVICE void reduce_slices(const platform::Thread& thread, const Sum* partial, int64 elements, int split_k,
                                int lanes, const Store& store) {
    const int neighbours = kReduceThreads / lanes;
    const int lane = thread.thread_id() / neighbours;
    const int64 element =
        (static_cast<int64>(thread.block_id()) * neighbours + thread.thread_id() % neighbours) * int64{Width};
    const bool there = element < elements;
    const int share = ceil_div(split_k, lanes);
    const int first = lane * share;
    Vec<Sum, Width> total{};
    if(there && first < split_k)
        total =
            sum_slices<Width>(thread, partial + element + first * elements, elements, min_of(share, split_k - first));
    if(lanes > 1) {
        thread.lds_store(thread.thread_id() * Width * 4, total);
        thread.barrier();
        if(lane > 0)
            return;
        for(int other = 1; other < lanes; ++other) {
            const auto value =
                thread.template lds_load<Vec<Sum, Width>>((other * neighbours + thread.thread_id()) * Width * 4);
            CKGEN_UNROLL
            for(int e = 0; e < Width; ++e)
                total[e] += value[e];
        }
    }
    if(there)
        store(element, total);
}

template <class Wei, class Sum = float>
struct SplitKReduceKernel {
    using Args = SplitKReduceArgs;
    static constexpr int launch_threads = kReduceThreads;
    static constexpr int lds_bytes = launch_threads * 16;
    static constexpr bool waits_for_previous = true;

    // Elements of a workgroup.
    static CKGEN_HD int elements_of(const Args& args) { return launch_threads / args.lanes * args.width; }

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        platform::pdl_wait();
        if(args.width == 4)
            sum<4>(args, thread);
        else
            sum<1>(args, thread);
    }

private:
    template <int Width>
    static CKGEN_DEVICE void sum(const Args& args, const platform::Thread& thread) {
        reduce_slices<Width>(thread, reinterpret_cast<const Sum*>(args.partial), args.elements, args.split_k,
                             args.lanes, [&](int64 element, const Vec<Sum, Width>& total) {
                                 Vec<Wei, Width> rounded;
                                 CKGEN_UNROLL
                                 for(int e = 0; e < Width; ++e)
                                     rounded[e] = Convert<Wei>::from(total[e]);
                                 thread.global_store(reinterpret_cast<Wei*>(args.wei) + element, rounded);
                             });
    }
};

}  // namespace ckgen::epilogue
