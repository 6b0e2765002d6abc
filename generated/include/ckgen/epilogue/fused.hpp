// Copied by ckgen from templates/include/ckgen/epilogue/fused.hpp. Do not edit; run: ckgen generate
// The function of sums and of D tensors, for the epilogue and the reduction of every operation: reads D, applies the
// function in f32, rounds once and stores.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/platform/platform.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::epilogue {

// `Width` neighbouring channels of each D tensor, from a place of the result on. Tensor: an address and strides. Place:
// an element of the result, whose offset<OneAChannel, ChannelsLast>(strides) is that of the same element of D.
template <int Width, class Types, class Layouts>
struct FusedInputs;
template <int Width>
struct FusedInputs<Width, Tuple<>, Tuple<>> {
    FusedInputs() = default;
    template <class Tensor, class Place>
    CKGEN_DEVICE FusedInputs(const platform::Thread&, const Tensor*, const Place&) {}

    template <class Function, class... Values>
    CKGEN_DEVICE float apply(const Function& function, int, float sum, Values... values) const {
        float result;
        function(result, sum, values...);
        return result;
    }
};
template <int Width, class T, class... Types, class Layout, class... Layouts>
struct FusedInputs<Width, Tuple<T, Types...>, Tuple<Layout, Layouts...>> {
    static constexpr int piece = layout::channels_last<Layout> ? min_of(Width, 16 / static_cast<int>(sizeof(T))) : 1;
    Vec<T, piece> values[Width / piece];
    FusedInputs<Width, Tuple<Types...>, Tuple<Layouts...>> others;

    FusedInputs() = default;
    template <class Tensor, class Place>
    CKGEN_DEVICE FusedInputs(const platform::Thread& thread, const Tensor* tensors, const Place& at)
        : others(thread, tensors + 1, at) {
        const Tensor& d = *tensors;
        const int64 offset =
            at.template offset<layout::one_a_channel<Layout>, layout::channels_last<Layout>>(d.strides);
        const T* first = reinterpret_cast<const T*>(d.data) + offset;
        CKGEN_UNROLL
        for(int i = 0; i < Width / piece; ++i)
            values[i] = thread.template global_load<Vec<T, piece>>(
                first + (layout::channels_last<Layout> ? i * piece : i * d.strides.channel));
    }

    // `earlier`: this channel of the preceding D tensors.
    template <class Function, class... Earlier>
    CKGEN_DEVICE float apply(const Function& function, int channel, float sum, Earlier... earlier) const {
        return others.apply(function, channel, sum, earlier..., to_float(values[channel / piece][channel % piece]));
    }
};

template <class D, int Width>
using FusedInputsOf = FusedInputs<Width, typename D::DsDataType, typename D::DsLayout>;

// Writes the function of `Width` sums and of D to neighbouring channels of the result, from `target` on. An i32 that is
// rounded to f32 here becomes the same int8: rounding begins at 2^24. The thread that writes these elements has read
// the same elements of D before, so that a D tensor may be the result itself.
template <class D, class Result, int Width, class Sum>
CKGEN_DEVICE void write_fused(const platform::Thread& thread, const typename D::Called& function,
                              const FusedInputsOf<D, Width>& inputs, Result* target, const Sum (&sums)[Width]) {
    constexpr int width = min_of(Width, 16 / static_cast<int>(sizeof(Result)));
    CKGEN_UNROLL
    for(int first = 0; first < Width; first += width) {
        Vec<Result, width> results;
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            results[e] = Convert<Result>::from(inputs.apply(function, first + e, static_cast<float>(sums[first + e])));
        thread.global_store(target + first, results);
    }
}
}  // namespace ckgen::epilogue
