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

}  // namespace ckgen::epilogue
