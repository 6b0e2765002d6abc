// Data types and their limits. f8_t, bf8_t and tf32_t name a computation: no tensor of a library has them.
#pragma once

#include <limits>

#include "ck/ck.hpp"
#include "ckgen/compute_types.hpp"

namespace ck {

template <class T>
struct NumericLimits {
    static constexpr T Min() { return std::numeric_limits<T>::min(); }
    static constexpr T Max() { return std::numeric_limits<T>::max(); }
    static constexpr T Lowest() { return std::numeric_limits<T>::lowest(); }
    static constexpr T Infinity() { return std::numeric_limits<T>::infinity(); }
};

}  // namespace ck

#include "ck/utility/type_convert.hpp"
