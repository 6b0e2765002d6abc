// Data types that name a computation. A library has values of half_t, bhalf_t and float; the types below only choose
// operators, whose lists are empty if the library has none for them.
#pragma once

#include <limits>

#include "ck/ck.hpp"

namespace ck {

struct f8_t {
    unsigned char data;
};
struct bf8_t {
    unsigned char data;
};
struct tf32_t {
    float data;
};

template <class T>
struct NumericLimits {
    static constexpr T Min() { return std::numeric_limits<T>::min(); }
    static constexpr T Max() { return std::numeric_limits<T>::max(); }
    static constexpr T Lowest() { return std::numeric_limits<T>::lowest(); }
    static constexpr T Infinity() { return std::numeric_limits<T>::infinity(); }
};

}  // namespace ck

#include "ck/utility/type_convert.hpp"
