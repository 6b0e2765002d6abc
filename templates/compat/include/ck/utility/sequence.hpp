// A list of integers as a type.
#pragma once

#include "ck/utility/number.hpp"

namespace ck {

template <index_t... Is>
struct Sequence {
    static constexpr index_t mSize = sizeof...(Is);
    static constexpr index_t Size() { return mSize; }
    static constexpr index_t At(index_t i) {
        const index_t values[] = {Is..., 0};
        return values[i];
    }
    template <index_t I>
    static constexpr index_t At(Number<I>) {
        return At(I);
    }
};

}  // namespace ck
