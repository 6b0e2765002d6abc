// Copied by ckgen from templates/include/ckgen/pipeline/depthwise_sums.hpp. Do not edit; run: ckgen generate
// Sums over the threads of a workgroup in family depthwise, and their store.
#pragma once

#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::pipeline {

// Stores a vector to LDS from its element number `element` on.
template <int N>
CKGEN_DEVICE void store_to_lds(const platform::Thread& thread, int element, const Vec<float, N>& values) {
    constexpr int width = min_of(N, 4);
    CKGEN_UNROLL
    for(int first = 0; first < N; first += width) {
        Vec<float, width> part;
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            part[e] = values[first + e];
        thread.lds_store((element + first) * 4, part);
    }
}

// Adds the floats of LDS at the elements first + i * pitch, for i from `begin` to below `end` in steps of `step`.
CKGEN_DEVICE float sum_of_lds(const platform::Thread& thread, int first, int pitch, int begin, int end, int step) {
    float sum = 0.f;
    for(int i = begin; i < end; i += step)
        sum += thread.template lds_load<float>((first + i * pitch) * 4);
    return sum;
}

// Adds `values` over the threads of a unit: thread i has those of unit i % units and counts if i < units * count.
// Returns the total of value i / units of unit i % units to thread i, if there is one. Several threads add parts of a
// total, then one adds the parts; the order is fixed.
template <int Threads, int Values>
CKGEN_DEVICE float sum_of_threads(const platform::Thread& thread, int units, int count, const float (&values)[Values]) {
    const int id = thread.thread_id();
    const int totals = Values * units;
    const int parts = Threads / totals;
    thread.barrier();
    CKGEN_UNROLL
    for(int i = 0; i < Values; ++i)
        thread.lds_store((i * Threads + id) * 4, values[i]);
    thread.barrier();
    const int first = (id % totals) / units * Threads + id % units;
    const float part = sum_of_lds(thread, first, units, id / totals, id < parts * totals ? count : 0, parts);
    thread.barrier();
    thread.lds_store(id * 4, part);
    thread.barrier();
    return part + sum_of_lds(thread, id, totals, 1, id < totals ? parts : 0, 1);
}

// Adds the sums of all taps over threads that have one group, and stores each with store(unit, row, tap, sum). `First`:
// the number of taps that are stored already; 16 fit LDS at once.
template <int Threads, int First = 0, int Rows, int Taps, class Store>
CKGEN_DEVICE void add_units(const platform::Thread& thread, int units, int count, const float (&sums)[Rows][Taps][1],
                            const Store& store) {
    constexpr int number = min_of(Rows * Taps - First, 16);
    float values[number];
    CKGEN_UNROLL
    for(int i = 0; i < number; ++i)
        values[i] = sums[(First + i) / Taps][(First + i) % Taps][0];
    const float sum = sum_of_threads<Threads>(thread, units, count, values);
    const int tap = First + thread.thread_id() / units;
    if(tap < First + number)
        store(thread.thread_id() % units, tap / Taps, tap % Taps, sum);
    if constexpr(First + number < Rows * Taps)
        add_units<Threads, First + number>(thread, units, count, sums, store);
}

// Stores the weight of a group, filter k and tap, which is element number `element` of the weights, after the
// instance's function of D tensors if it has one. `args` are the arguments of the kernel.
template <class D, class Args>
CKGEN_DEVICE void store_weight(const platform::Thread& thread, const Args& args, int group, int k, int tap,
                               int64 element, float total) {
    using Wei = typename D::Wei;
    Wei* const target = reinterpret_cast<Wei*>(args.problem.wei) + element;
    if constexpr(D::fused) {
        const typename D::KernelArgs& near = thread.reload_kernel_args(args).problem;
        const epilogue::WeightPlace<D::ndim> at(near, group, k, tap, 0);
        const epilogue::FusedInputsOf<D, 1> inputs(thread, near.d, at);
        epilogue::write_fused<D>(thread, near.function, inputs, target, {total});
    } else {
        thread.global_store(target, Convert<Wei>::from(total));
    }
}

}  // namespace ckgen::pipeline
