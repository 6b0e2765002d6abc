// Copied by ckgen from templates/include/ckgen/epilogue/bwd_weight_reduce.hpp. Do not edit; run: ckgen generate
// Sums the partials of split-K in a fixed order, applies the function and rounds once.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/epilogue/exchanged_weight.hpp"
#include "ckgen/epilogue/split_k_reduce.hpp"

namespace ckgen::epilogue {

template <class D>
struct BwdWeightReduceKernel {
    using Args = typename D::KernelArgs;
    static constexpr int launch_threads = kReduceThreads;
    static constexpr int width = D::c_channels_last ? min_of(4, D::c_vector) : 1;  // neighbouring channels per thread
    static constexpr int lds_bytes = launch_threads * 16;
    static constexpr bool waits_for_previous = true;

    static CKGEN_HD int64 elements_of(const conv::BwdWeightArgs& args) { return args.groups * args.wei_group_elements; }
    static uint32 blocks_of(const conv::BwdWeightArgs& args) {
        const int64 elements = elements_of(args);
        const int64 per_block = int64{launch_threads} / reduce_lanes(elements, args.split_k) * width;
        return static_cast<uint32>((elements + per_block - 1) / per_block);
    }

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        platform::pdl_wait();
        const int64 elements = elements_of(args);
        using Sum = typename D::Accumulator;
        reduce_slices<width>(thread, reinterpret_cast<const Sum*>(args.partial), elements, args.split_k,
                             reduce_lanes(elements, args.split_k),
                             [&](int64 element, const Vec<Sum, width>& total) { write(thread, args, element, total); });
    }

private:
    static CKGEN_DEVICE void write(const platform::Thread& thread, const Args& args, int64 element,
                                   const Vec<typename D::Accumulator, width>& total) {
        auto* const weights = reinterpret_cast<typename D::Wei*>(args.wei);
        if constexpr(kExchanges<D>) {  // partials have the order of the product: groups, input channels, columns
            const int group = static_cast<int>(element / args.wei_group_elements);
            const int64 first = group * args.wei_group_elements;
            const auto place = static_cast<int32>(element - first);
            const int m = place / args.n;
            const ExchangedWeight<D> weight(args, m, place - m * args.n);
            weight.template write<D::fused>(thread, args, group, total[0], weights + first);
        } else {
            const FusedInputsOf<D, width> inputs(thread, args.d, place_of(args, element));
            write_fused<D>(thread, args.function, inputs, weights + element, total.data);
        }
    }

    // The place of an element of the weight, which is packed: groups, K, then taps and C in the layout's order.
    static CKGEN_DEVICE WeightPlace<D::Layout::ndim> place_of(const conv::BwdWeightArgs& args, int64 element) {
        // With merged groups, m, n and c count the channels of several.
        constexpr bool merges = kMergesGroups<D>;
        const int rows = merges ? args.merged.k : args.m;
        const int columns = merges ? args.merged.row : args.n;
        const int channels = merges ? args.merged.c : args.c;
        const int64 row = element / columns;
        const int column = static_cast<int>(element - row * columns);
        const int group = static_cast<int>(row / rows);
        const int k = static_cast<int>(row - static_cast<int64>(group) * rows);
        const int inner = D::c_channels_last ? channels : columns / channels;
        const int outer = column / inner;
        const int rest = column - outer * inner;
        return D::c_channels_last ? WeightPlace<D::Layout::ndim>(args, group, k, outer, rest)
                                  : WeightPlace<D::Layout::ndim>(args, group, k, rest, outer);
    }
};

}  // namespace ckgen::epilogue
