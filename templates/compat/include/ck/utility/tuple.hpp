// Lists of types.
#pragma once

#include <tuple>

#include "ck/utility/number.hpp"

namespace ck {

template <index_t I, class Types>
struct tuple_element;
template <index_t I, class... Types>
struct tuple_element<I, Tuple<Types...>> : std::tuple_element<static_cast<std::size_t>(I), std::tuple<Types...>> {};
template <index_t I, class Types>
using tuple_element_t = typename tuple_element<I, Types>::type;

}  // namespace ck
