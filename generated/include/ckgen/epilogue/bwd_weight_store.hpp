// Copied by ckgen from templates/include/ckgen/epilogue/bwd_weight_store.hpp. Do not edit; run: ckgen generate
// Stores lines of the tile as weights, or as partials of them.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/epilogue/exchanged_weight.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

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
            take<false, false>(thread, base, pass, reinterpret_cast<typename D::Accumulator*>(args_.partial) + slice);
        } else {
            take<D::fused, kExchanges<D>>(thread, base, pass,
                                          reinterpret_cast<Wei*>(args_.wei) + tile_.group * args_.wei_group_elements);
        }
    }

private:
    static constexpr bool taps_fastest = conv::ColumnOrder<D>::taps_fastest;
    static_assert(taps_fastest == !D::c_channels_last, "columns have the order of the weight");
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
    // Exchanged: `target` has the order of the weight, not that of the product.
    template <bool Fused, bool Exchanged, class Target>
    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass, Target* target) const {
        CKGEN_UNROLL_BY(unrolled_rounds)
        for(int round = 0; round < Shape::rounds; ++round) {
            const int index = round * D::block_size + math_id_;
            const int line = index / Shape::line_vectors;
            const int column = index % Shape::line_vectors * D::c_vector;
            const int m = tile_.m_first + Shape::row_of_line(pass, line);
            const int n = tile_.n_first + column;
            if((Shape::whole_rounds || index < Shape::vectors) && m < args_.m && n < args_.n)
                write<Fused, Exchanged>(thread, base + Shape::byte_of(line, column), m, n, target);
        }
    }
    // Columns have the order of the weight, unless input and output are exchanged.
    template <bool Fused, bool Exchanged, class Target>
    CKGEN_DEVICE void write(const platform::Thread& thread, int byte, int m, int n, Target* target) const {
        if constexpr(D::groups_to_merge > 1) {
            write_merged<Fused>(thread, byte, m, n, target);
        } else if constexpr(Exchanged) {
            const ExchangedWeight<D> weight(args_, m, n);
            weight.template write<Fused>(thread, args_, tile_.group, Shape::value(thread, byte, 0), target);
        } else {
            Target* const weights = target + static_cast<int64>(m) * args_.n + n;
            if constexpr(Fused)
                write_function(thread, byte, {tile_.group, m, n, taps_fastest ? args_.n / args_.c : args_.c}, weights);
            else
                write(thread, byte, weights);
        }
    }

    // Writes the weights of row m and column n of merged groups; `target` is that of the first. There is none where row
    // and column belong to different groups, or to a group past the last.
    template <bool Fused, class Target>
    CKGEN_DEVICE void write_merged(const platform::Thread& thread, int byte, int m, int n, Target* target) const {
        const conv::MergedGroups& groups = groups_;
        const int group = groups.by_k.quotient(m);
        const int outer = groups.by_inner.quotient(n);
        const int channel = taps_fastest ? outer : n - outer * args_.c;
        if(groups.by_c.quotient(channel) != group || tile_.group + group >= args_.groups)
            return;
        const int k = m - group * groups.k;
        const int column = taps_fastest ? n - group * groups.row : outer * groups.c + channel - group * groups.c;
        Target* const weights = target + group * args_.wei_group_elements + static_cast<int64>(k) * groups.row + column;
        if constexpr(Fused)
            write_function(thread, byte,
                           {tile_.group + group, k, column, taps_fastest ? groups.row / groups.c : groups.c}, weights);
        else
            write(thread, byte, weights);
    }

    // A column of one group's output channel; `inner`: the length of its faster index, taps or channels.
    struct Column {
        int group, k, column, inner;

        CKGEN_DEVICE WeightPlace<D::Layout::ndim> place(const Args& args, int further) const {
            const int outer = (column + further) / inner;
            const int rest = column + further - outer * inner;
            return taps_fastest ? WeightPlace<D::Layout::ndim>(args, group, k, rest, outer)
                                : WeightPlace<D::Layout::ndim>(args, group, k, outer, rest);
        }
    };

    // Writes the function of neighbouring weights: of channels, or of taps.
    CKGEN_DEVICE void write_function(const platform::Thread& thread, int byte, const Column& at, Wei* target) const {
        if constexpr(D::c_channels_last) {
            typename D::Accumulator sums[D::c_vector];
            CKGEN_UNROLL
            for(int e = 0; e < D::c_vector; ++e)
                sums[e] = Shape::value(thread, byte, e);
            const FusedInputsOf<D, D::c_vector> inputs(thread, args_.d, at.place(args_, 0));
            write_fused<D>(thread, args_.function, inputs, target, sums);
        } else {
            Vec<Wei, D::c_vector> results;
            CKGEN_UNROLL
            for(int e = 0; e < D::c_vector; ++e) {
                const FusedInputsOf<D, 1> inputs(thread, args_.d, at.place(args_, e));
                results[e] = Convert<Wei>::from(
                    inputs.apply(args_.function, 0, static_cast<float>(Shape::value(thread, byte, e))));
            }
            thread.global_store(target, results);
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
