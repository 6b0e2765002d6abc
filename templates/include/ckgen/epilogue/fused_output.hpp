// The last step of backward data: the places of the input and of D tensors.
#pragma once

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/epilogue/fused.hpp"

namespace ckgen::epilogue {

// An element of the input: (g, n, position) and the first channel of a thread.
template <int NDim>
struct InputPlace {
    int group, image, channel;
    int position[NDim];

    template <bool OneAChannel, bool ChannelsLast>
    CKGEN_DEVICE int64 offset(const conv::InputStrides& strides) const {
        int64 sum = group * strides.group;
        if constexpr(!OneAChannel) {
            sum += image * strides.image;
            CKGEN_UNROLL
            for(int d = 0; d < NDim; ++d)
                sum += static_cast<int64>(position[d]) * strides.position[d];
        }
        return sum + static_cast<int64>(channel) * (ChannelsLast ? 1 : strides.channel);
    }
};

// Offset of the element in the input.
template <class D>
CKGEN_DEVICE int64 input_offset(const InputPlace<D::kernel_ndim>& at, const conv::InputStrides& strides) {
    return at.template offset<false, layout::channels_last<typename D::Layout::In>>(strides);
}

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
        tensors->data += at.template offset<one, layout::channels_last<Layout>>(tensors->strides) * int64{sizeof(T)};
        FusedAddresses<Tuple<Types...>, Tuple<Layouts...>>::move(tensors + 1, at);
    }
};

// Reads D here; the first channel is element `offset`.
template <class D, int Width, class Sum>
CKGEN_DEVICE void write_fused(const platform::Thread& thread, const typename D::KernelArgs& args,
                              const InputPlace<D::kernel_ndim>& at, int64 offset, const Sum (&sums)[Width]) {
    const FusedInputsOf<D, Width> inputs(thread, args.d, at);
    write_fused<D>(thread, args.function, inputs, reinterpret_cast<typename D::In*>(args.target) + offset, sums);
}

}  // namespace ckgen::epilogue
