// Copied by ckgen from templates/include/ckgen/epilogue/fused_output.hpp. Do not edit; run: ckgen generate
// The last step of backward data: applies the function to a sum and to D tensors, rounds once and stores.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/platform/platform.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::epilogue {

// An element of the input: (g, n, position) and the first channel of a thread.
template <int NDim>
struct InputPlace {
    int group, image, channel;
    int position[NDim];
};

template <bool OneAChannel, bool ChannelsLast, int NDim>
CKGEN_DEVICE int64 offset_of(const InputPlace<NDim>& at, const conv::InputStrides& strides) {
    int64 offset = at.group * strides.group;
    if constexpr(!OneAChannel) {
        offset += at.image * strides.image;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            offset += static_cast<int64>(at.position[d]) * strides.position[d];
    }
    return offset + static_cast<int64>(at.channel) * (ChannelsLast ? 1 : strides.channel);
}
// Offset of the element in the input.
template <class D>
CKGEN_DEVICE int64 input_offset(const InputPlace<D::kernel_ndim>& at, const conv::InputStrides& strides) {
    return offset_of<false, layout::channels_last<typename D::Layout::In>>(at, strides);
}

// `Width` neighbouring channels of each D tensor, from the address in `tensors` on.
template <int Width, class Types, class Layouts>
struct FusedInputs;
template <int Width>
struct FusedInputs<Width, Tuple<>, Tuple<>> {
    FusedInputs() = default;
    template <int NDim>
    CKGEN_DEVICE FusedInputs(const platform::Thread&, const conv::BwdDataTensor*, const InputPlace<NDim>&) {}

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
    template <int NDim>
    CKGEN_DEVICE FusedInputs(const platform::Thread& thread, const conv::BwdDataTensor* tensors,
                             const InputPlace<NDim>& at)
        : others(thread, tensors + 1, at) {
        const conv::BwdDataTensor& d = *tensors;
        const int64 offset = offset_of<layout::one_a_channel<Layout>, layout::channels_last<Layout>>(at, d.strides);
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

// Moves the addresses of D tensors to an element of the input. Reads are then relative to it, except for the position.
template <class Types, class Layouts>
struct FusedAddresses;
template <>
struct FusedAddresses<Tuple<>, Tuple<>> {
    template <int NDim>
    static CKGEN_DEVICE void move(conv::BwdDataTensor*, const InputPlace<NDim>&) {}
};
template <class T, class... Types, class Layout, class... Layouts>
struct FusedAddresses<Tuple<T, Types...>, Tuple<Layout, Layouts...>> {
    template <int NDim>
    static CKGEN_DEVICE void move(conv::BwdDataTensor* tensors, const InputPlace<NDim>& at) {
        constexpr bool one = layout::one_a_channel<Layout>;
        tensors->data += offset_of<one, layout::channels_last<Layout>>(at, tensors->strides) * int64{sizeof(T)};
        FusedAddresses<Tuple<Types...>, Tuple<Layouts...>>::move(tensors + 1, at);
    }
};

template <class D, int Width>
using FusedInputsOf = FusedInputs<Width, typename D::DsDataType, typename D::DsLayout>;

// Writes the function of `Width` sums and of D to neighbouring channels of the input, from `target` on. An i32 that is
// rounded to f32 here becomes the same int8: rounding begins at 2^24. The thread that
// writes these elements has read the same elements of D before, so that a D tensor may be the input itself.
template <class D, int Width, class Sum>
CKGEN_DEVICE void write_fused(const platform::Thread& thread, const typename D::Function& function,
                              const FusedInputsOf<D, Width>& inputs, typename D::In* target, const Sum (&sums)[Width]) {
    using In = typename D::In;
    constexpr int width = min_of(Width, 16 / static_cast<int>(sizeof(In)));
    CKGEN_UNROLL
    for(int first = 0; first < Width; first += width) {
        Vec<In, width> results;
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            results[e] = Convert<In>::from(inputs.apply(function, first + e, static_cast<float>(sums[first + e])));
        thread.global_store(target + first, results);
    }
}
// Reads D here; the first channel is element `offset`.
template <class D, int Width, class Sum>
CKGEN_DEVICE void write_fused(const platform::Thread& thread, const typename D::KernelArgs& args,
                              const InputPlace<D::kernel_ndim>& at, int64 offset, const Sum (&sums)[Width]) {
    const FusedInputsOf<D, Width> inputs(thread, args.d, at);
    write_fused<D>(thread, args.function, inputs, reinterpret_cast<typename D::In*>(args.target) + offset, sums);
}

}  // namespace ckgen::epilogue
