// Copied by ckgen from templates/include/ckgen/epilogue/bwd_data_reduce.hpp. Do not edit; run: ckgen generate
// Sums the partials of split-K in a fixed order, applies the function and rounds once. Positions that no tap
// reaches have no partials; their sum is zero.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/epilogue/split_k_reduce.hpp"

namespace ckgen::epilogue {

template <class D>
struct BwdDataReduceKernel {
    using Args = typename D::KernelArgs;
    static constexpr int launch_threads = 128;
    static constexpr int width = D::c_m_major ? 1 : min_of(4, D::c_vector);  // neighbouring channels per thread
    static constexpr int lds_bytes = 16;                                     // unused; an empty array would not be C++
    static constexpr bool waits_for_previous = true;

    // Number of positions of all images and groups.
    static CKGEN_HD int64 rows_of(const conv::BwdDataArgs& args) {
        int64 rows = static_cast<int64>(args.images) * args.groups;
        for(int d = 0; d < D::kernel_ndim; ++d)
            rows *= args.in_length[d];
        return rows;
    }
    static uint32 blocks_of(const conv::BwdDataArgs& args) {
        return static_cast<uint32>((rows_of(args) * (args.n / width) + launch_threads - 1) / launch_threads);
    }

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        platform::pdl_wait();
        constexpr int ndim = D::kernel_ndim;
        const int64 rows = rows_of(args);
        const int vectors = args.n / width;
        int64 rest = static_cast<int64>(thread.block_id()) * launch_threads + thread.thread_id();
        if(rest >= rows * vectors)
            return;
        InputPlace<ndim> at;
        if constexpr(!D::c_m_major)
            at.channel = take(rest, vectors) * width;
        bool tapped = true;
        CKGEN_UNROLL
        for(int d = ndim - 1; d >= 0; --d) {
            at.position[d] = take(rest, args.in_length[d]);
            tapped = tapped & (conv::class_of(args, d, at.position[d]) >= 0);
        }
        if constexpr(D::c_m_major)  // partials have the order of the input: positions of a channel are contiguous
            at.channel = take(rest, vectors);
        at.image = take(rest, args.images);
        at.group = static_cast<int>(rest);
        if constexpr(kMergesGroups<D>) {  // the last merged group may have fewer channels
            if(at.channel >= conv::TileChannels<true>(args, at).n(args))
                return;
        }
        using Sum = typename D::Accumulator;
        Vec<Sum, width> total{};
        if(tapped)
            total = sum_slices<width>(
                thread, reinterpret_cast<const Sum*>(args.partial) + input_offset<D>(at, args.partial_strides),
                args.partial_elements, args.split_k);
        write_fused<D>(thread, args, at, input_offset<D>(at, args.in), total.data);
    }

private:
    // Returns the innermost index of `number`; `number` keeps the outer ones.
    static CKGEN_DEVICE int take(int64& number, int length) {
        const int64 next = number / length;
        const int index = static_cast<int>(number - next * length);
        number = next;
        return index;
    }
};

}  // namespace ckgen::epilogue
