// Copied by ckgen from templates/include/ckgen/epilogue/split_k_reduce.hpp. Do not edit; run: ckgen generate
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

// One thread an element: neighbouring threads read neighbouring partials. 256 elements a workgroup.
template <class Wei>
struct SplitKReduceKernel {
    using Args = SplitKReduceArgs;
    static constexpr int launch_threads = 256;
    static constexpr int lds_bytes = 16;  // none is used; an empty array would not be C++

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const int64 element = static_cast<int64>(thread.block_id()) * launch_threads + thread.thread_id();
        if(element >= args.elements)
            return;
        float sum = 0.f;
        for(int split = 0; split < args.split_k; ++split)
            sum += thread.global_load<float>(args.partial + split * args.elements + element);
        thread.global_store(reinterpret_cast<Wei*>(args.wei) + element, Convert<Wei>::from(sum));
    }
};

}  // namespace ckgen::epilogue
