// The last step of backward weight with a function: the places of the weight and of D tensors.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"
#include "ckgen/epilogue/fused.hpp"

namespace ckgen::epilogue {

// An element of the weight: (g, k, filter position) and the first channel of a thread.
template <int NDim>
struct WeightPlace {
    int group, k, channel;
    int position[NDim];

    // `tap` counts the filter's positions, the last dimension's fastest.
    CKGEN_DEVICE WeightPlace(const conv::BwdWeightArgs& args, int group, int k, int tap, int channel)
        : group(group), k(k), channel(channel) {
        CKGEN_UNROLL
        for(int d = NDim - 1; d > 0; --d) {
            const int outer = tap / args.filter[d];
            position[d] = tap - outer * args.filter[d];
            tap = outer;
        }
        position[0] = tap;
    }

    template <bool OneAChannel, bool ChannelsLast>
    CKGEN_DEVICE int64 offset(const conv::WeightStrides& strides) const {
        int64 sum = group * strides.group;
        if constexpr(!OneAChannel) {
            sum += k * strides.k;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                sum += static_cast<int64>(position[d]) * strides.position[d];
        }
        return sum + static_cast<int64>(channel) * (ChannelsLast ? 1 : strides.channel);
    }
};

// Count neighbouring weights of output channel `row` from `weight` on, which counts a row's taps and channels: the
// function of the sums, rounded. If not `inside`, no D tensor is read, and the results mean nothing.
template <class D, int Count>
CKGEN_DEVICE Vec<typename D::Wei, Count> rounded_weights(const platform::Thread& thread,
                                                         const typename D::KernelArgs& args, int group, int row,
                                                         int weight, bool inside, const float* sums) {
    Vec<typename D::Wei, Count> results;
    if constexpr(D::fused) {
        FusedInputsOf<D, Count> inputs{};
        if(inside) {
            const int tap = weight / args.c;
            const WeightPlace<D::Layout::ndim> at(args, group, row, tap, weight - tap * args.c);
            inputs = FusedInputsOf<D, Count>(thread, args.d, at);
        }
        CKGEN_UNROLL
        for(int e = 0; e < Count; ++e)
            results[e] = Convert<typename D::Wei>::from(inputs.apply(args.function, e, sums[e]));
    } else {
        CKGEN_UNROLL
        for(int e = 0; e < Count; ++e)
            results[e] = Convert<typename D::Wei>::from(sums[e]);
    }
    return results;
}

}  // namespace ckgen::epilogue
