// Conversions between data types: floating-point types of 8 and 16 bits by way of f32, rounded to nearest even.
#pragma once

#include <type_traits>

#include "ck/ck.hpp"
#include "ckgen/compute_types.hpp"

namespace ck {

template <class T>
inline constexpr bool is_short_float =
    std::is_same_v<T, half_t> || std::is_same_v<T, bhalf_t> || std::is_same_v<T, f8_t> || std::is_same_v<T, bf8_t>;

template <class Y, class X>
CKGEN_HD constexpr Y type_convert(X x) {
    if constexpr(std::is_same_v<X, Y>)
        return x;
    else if constexpr(is_short_float<X> && is_short_float<Y>)
        return Convert<Y>::from(to_float(x));
    else if constexpr(is_short_float<X>)
        return static_cast<Y>(to_float(x));
    else if constexpr(is_short_float<Y>)
        return Convert<Y>::from(static_cast<float>(x));
    else
        return static_cast<Y>(x);
}

}  // namespace ck
