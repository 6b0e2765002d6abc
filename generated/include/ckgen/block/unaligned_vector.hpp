// Copied by ckgen from templates/include/ckgen/block/unaligned_vector.hpp. Do not edit; run: ckgen generate
// Vector loads that start at any element, and masks that clear elements of a vector.
#pragma once

#include "ckgen/block/tile_copy.hpp"

namespace ckgen::block {

// Loads a vector of elements of type T from any element on.
template <class V, class T, class Window>
CKGEN_DEVICE V load_unaligned(const platform::Thread& thread, const Window& window, uint32 offset) {
    if constexpr(platform::kUnalignedLoads) {
        return load_vector<V>(thread, window, offset);
    } else {
        using Element = typename WordsOrLess<sizeof(T)>::type;
        struct Elements {
            Element values[sizeof(V) / sizeof(T)];
        } elements;
        CKGEN_UNROLL
        for(int i = 0; i < static_cast<int>(sizeof(V) / sizeof(T)); ++i)
            elements.values[i] =
                window.template load<Element>(thread, offset + static_cast<uint32>(i * static_cast<int>(sizeof(T))));
        return __builtin_bit_cast(V, elements);
    }
}

// The bits of each word of a vector of 16 or 32-bit elements that stay where the elements whose bit is 0 are cleared.
template <class V, int ElementBytes>
CKGEN_DEVICE V kept_bits(uint32 valid) {
    static_assert(ElementBytes == 2 || ElementBytes == 4, "16 or 32-bit elements");
    const uint32 pairs = valid | valid << 15;  // bits of the two elements of a word, 16 apart
    V kept;
    CKGEN_UNROLL
    for(int word = 0; word < static_cast<int>(sizeof(V) / 4); ++word)
        kept[word] = ElementBytes == 4 ? 0u - (valid >> word & 1u) : platform::spread_signs(pairs << (15 - 2 * word));
    return kept;
}

}  // namespace ckgen::block
