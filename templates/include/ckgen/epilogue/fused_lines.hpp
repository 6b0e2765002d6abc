// Prefetch of D tensors to the cache, on platforms with TMA.
#pragma once

#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::epilogue {

// Prefetches the 32-byte sectors of D tensors that hold `count` channels of a position, from the channel of `at` on, in
// groups of `channels`. Tensors whose groups are apart or that repeat a value are left out, because a prefetch of them
// does not pay.
template <class Types, class Layouts>
struct FusedLines;
template <>
struct FusedLines<Tuple<>, Tuple<>> {
    template <int NDim>
    static CKGEN_DEVICE void fetch(const conv::BwdDataTensor*, const InputPlace<NDim>&, int, int) {}
};
template <class T, class... Types, class Layout, class... Layouts>
struct FusedLines<Tuple<T, Types...>, Tuple<Layout, Layouts...>> {
    template <int NDim>
    static CKGEN_DEVICE void fetch(const conv::BwdDataTensor* tensors, const InputPlace<NDim>& at, int count,
                                   int channels) {
        if constexpr(!layout::one_a_channel<Layout> && layout::channels_last<Layout>) {
            const int64 offset = at.template offset<false, true>(tensors->strides);
            const char* first = tensors->data + offset * int64{sizeof(T)};
            if(tensors->strides.group == channels)
                for(int line = 0; line < count * static_cast<int>(sizeof(T)); line += 32)
                    platform::prefetch_sector(first + line);
        }
        FusedLines<Tuple<Types...>, Tuple<Layouts...>>::fetch(tensors + 1, at, count, channels);
    }
};

}  // namespace ckgen::epilogue
