// The weight that a result of an exchanged product is: rows are input channels, columns are output channels under the
// flipped taps.
#pragma once

#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/im2col_source.hpp"

namespace ckgen::epilogue {

template <class D>
struct ExchangedWeight {
    static constexpr int ndim = D::Layout::ndim;
    int k, tap, channel;
    int64 offset;  // from the first weight of the group

    // Row `m` and column `n` of one group's product.
    CKGEN_DEVICE ExchangedWeight(const conv::BwdWeightArgs& args, int m, int n) : channel(m) {
        int taps = 1;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            taps *= args.filter[d];
        constexpr bool taps_fastest = conv::ColumnOrder<D>::taps_fastest;
        const int outer = args.merged.by_inner.quotient(n);
        const int inner = n - outer * (taps_fastest ? taps : args.c);
        k = taps_fastest ? outer : inner;
        tap = taps - 1 - (taps_fastest ? inner : outer);
        const int64 first = static_cast<int64>(k) * taps * args.m;
        offset = first + (D::c_channels_last ? static_cast<int64>(tap) * args.m + channel
                                             : static_cast<int64>(channel) * taps + tap);
    }

    // Writes the sum of the weight at `target`, or the function of it.
    template <bool Fused, class Target>
    CKGEN_DEVICE void write(const platform::Thread& thread, const typename D::KernelArgs& args, int group,
                            typename D::Accumulator sum, Target* target) const {
        if constexpr(Fused) {
            const typename D::Accumulator sums[1] = {sum};
            const WeightPlace<ndim> place(args, group, k, tap, channel);
            const FusedInputsOf<D, 1> inputs(thread, args.d, place);
            write_fused<D>(thread, args.function, inputs, target + offset, sums);
        } else {
            Vec<Target, 1> value;
            value[0] = Convert<Target>::from(sum);
            thread.global_store(target + offset, value);
        }
    }
};

}  // namespace ckgen::epilogue
