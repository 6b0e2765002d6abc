// Copied by ckgen from templates/include/ckgen/epilogue/bwd_weight_store.hpp. Do not edit; run: ckgen generate
// Stores lines of the tile as weights, or as partials of them.
#pragma once

#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/bwd_weight_view.hpp"
#include "ckgen/load/im2col_source.hpp"

namespace ckgen::epilogue {

// Shape: a ShuffleShape.
template <class D, class Shape>
class BwdWeightStore {
    using Args = typename D::KernelArgs;
    using Wei = typename D::Wei;

public:
    CKGEN_DEVICE BwdWeightStore(const platform::Thread& thread, int math_id, const Args& args,
                                const conv::BwdWeightTile& tile)
        : math_id_(math_id), args_(near(thread, args)), groups_(groups_of(thread, args)), tile_(tile) {}

    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass) const {
        if(args_.partial != nullptr) {
            const int64 slice =
                (static_cast<int64>(tile_.split) * args_.groups + tile_.group) * args_.wei_group_elements;
            take<false>(thread, base, pass, reinterpret_cast<typename D::Accumulator*>(args_.partial) + slice);
        } else {
            take<D::fused>(thread, base, pass,
                           reinterpret_cast<Wei*>(args_.wei) + tile_.group * args_.wei_group_elements);
        }
    }

private:
    // Clang unrolls the loop over passes, and so keeps the accumulators in registers, only while its code is small.
    static constexpr bool is_large = D::groups_to_merge > 1 && Shape::passes > 8;
    static constexpr int unrolled_rounds = is_large ? 1 : Shape::rounds;

    // The arguments of a function are not kept in registers during the main loop.
    static CKGEN_DEVICE const Args& near(const platform::Thread& thread, const Args& args) {
        if constexpr(D::fused)
            return thread.reload_kernel_args(args);
        else
            return static_cast<void>(thread), args;
    }
    // Loads of single elements need the scalar registers during the main loop.
    static CKGEN_DEVICE const conv::MergedGroups& groups_of(const platform::Thread& thread, const Args& args) {
        if constexpr(D::groups_to_merge > 1 && D::b_k_major)
            return thread.reload_kernel_args(args).merged;
        else
            return static_cast<void>(thread), args.merged;
    }
    template <bool Fused, class Target>
    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass, Target* target) const {
        CKGEN_UNROLL_BY(unrolled_rounds)
        for(int round = 0; round < Shape::rounds; ++round) {
            const int index = round * D::block_size + math_id_;
            const int line = index / Shape::line_vectors;
            const int column = index % Shape::line_vectors * D::c_vector;
            const int m = tile_.m_first + Shape::row_of_line(pass, line);
            const int n = tile_.n_first + column;
            if((Shape::whole_rounds || index < Shape::vectors) && m < args_.m && n < args_.n)
                write<Fused>(thread, base + Shape::byte_of(line, column), m, n, target);
        }
    }
    template <bool Fused, class Target>
    CKGEN_DEVICE void write(const platform::Thread& thread, int byte, int m, int n, Target* target) const {
        if constexpr(D::groups_to_merge > 1) {
            write_merged<Fused>(thread, byte, m, n, target);
        } else {
            const int64 offset = static_cast<int64>(m) * args_.n + place(n);
            if constexpr(!Fused)
                write(thread, byte, target + offset);
            else if constexpr(D::c_channels_last)
                write_channels(thread, byte, weight_at(m, n), target + offset);
            else
                write_taps(thread, byte, m, n, target + offset);
        }
    }

    // Writes the weights of row m and column n of merged groups; `target` is that of the first. There is none where row
    // and column belong to different groups, or to a group past the last.
    template <bool Fused, class Target>
    CKGEN_DEVICE void write_merged(const platform::Thread& thread, int byte, int m, int n, Target* target) const {
        static_assert(D::c_channels_last, "a weight of merged groups has its channels last");
        const conv::MergedGroups& groups = groups_;
        const int group = groups.by_k.quotient(m);
        const int tap = groups.by_tap.quotient(n);
        const int channel = n - tap * args_.c;
        if(groups.by_c.quotient(channel) != group || tile_.group + group >= args_.groups)
            return;
        const int k = m - group * groups.k;
        const int c = channel - group * groups.c;
        Target* const weights =
            target + group * args_.wei_group_elements + static_cast<int64>(k) * groups.row + tap * groups.c + c;
        if constexpr(Fused)
            write_channels(thread, byte, WeightPlace<D::Layout::ndim>(args_, tile_.group + group, k, tap, c), weights);
        else
            write(thread, byte, weights);
    }

    // Write the function of neighbouring weights: of channels from `at` on, or of taps.
    CKGEN_DEVICE void write_channels(const platform::Thread& thread, int byte, const WeightPlace<D::Layout::ndim>& at,
                                     Wei* target) const {
        typename D::Accumulator sums[D::c_vector];
        CKGEN_UNROLL
        for(int e = 0; e < D::c_vector; ++e)
            sums[e] = Shape::value(thread, byte, e);
        const FusedInputsOf<D, D::c_vector> inputs(thread, args_.d, at);
        write_fused<D>(thread, args_.function, inputs, target, sums);
    }
    CKGEN_DEVICE void write_taps(const platform::Thread& thread, int byte, int m, int n, Wei* target) const {
        Vec<Wei, D::c_vector> results;
        CKGEN_UNROLL
        for(int e = 0; e < D::c_vector; ++e) {
            const FusedInputsOf<D, 1> inputs(thread, args_.d, weight_at(m, n + e));
            results[e] =
                Convert<Wei>::from(inputs.apply(args_.function, 0, static_cast<float>(Shape::value(thread, byte, e))));
        }
        thread.global_store(target, results);
    }

    // The weight of column n: tap n / c and channel n % c, or the other way round where columns have the weight's order
    // and taps are the faster ones.
    CKGEN_DEVICE WeightPlace<D::Layout::ndim> weight_at(int m, int n) const {
        constexpr bool taps_fastest = conv::ColumnOrder<D>::taps_fastest;
        const int inner = taps_fastest ? args_.n / args_.c : args_.c;
        const int outer = n / inner;
        const int rest = n - outer * inner;
        return taps_fastest ? WeightPlace<D::Layout::ndim>(args_, tile_.group, m, rest, outer)
                            : WeightPlace<D::Layout::ndim>(args_, tile_.group, m, outer, rest);
    }

    // The place of column n among the weights of one output channel. Columns have the order of the weight, or else n is
    // tap n / c and channel n % c.
    CKGEN_DEVICE int place(int n) const {
        using Axes = typename D::Layout::Wei;
        if constexpr(D::c_channels_last) {
            return n;
        } else {
            static_assert(Axes::axes[0] == 0 && Axes::axes[1] == 1 && Axes::axes[2] == 2, "groups, K, C, taps");
            if constexpr(D::b_k_major)
                return n;
            const int tap = n / args_.c;
            return (n - tap * args_.c) * (args_.n / args_.c) + tap;
        }
    }

    // Stores c_vector neighbouring elements in accesses of at most 16 bytes.
    template <class Target>
    static CKGEN_DEVICE void write(const platform::Thread& thread, int byte, Target* target) {
        constexpr int width = min_of(D::c_vector, 16 / static_cast<int>(sizeof(Target)));
        CKGEN_UNROLL
        for(int first = 0; first < D::c_vector; first += width) {
            Vec<Target, width> values;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e] = Convert<Target>::from(Shape::value(thread, byte, first + e));
            thread.global_store(target + first, values);
        }
    }

    int math_id_;
    const Args& args_;
    const conv::MergedGroups& groups_;
    const conv::BwdWeightTile& tile_;
};

}  // namespace ckgen::epilogue
