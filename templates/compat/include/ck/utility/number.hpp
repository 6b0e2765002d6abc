// Integers as types.
#pragma once

#include <type_traits>

#include "ck/ck.hpp"

namespace ck {

template <class T, T N>
using integral_constant = std::integral_constant<T, N>;
template <index_t N>
using Number = std::integral_constant<index_t, N>;
template <long_index_t N>
using LongNumber = std::integral_constant<long_index_t, N>;

template <class A, class B>
inline constexpr bool is_same_v = std::is_same_v<A, B>;

}  // namespace ck
