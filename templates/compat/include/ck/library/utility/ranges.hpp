// Types of ranges, which are everything that std::begin takes.
#pragma once

#include <iterator>
#include <utility>

namespace ck {

template <class Iterator>
using iter_value_t = typename std::iterator_traits<Iterator>::value_type;
template <class Iterator>
using iter_reference_t = typename std::iterator_traits<Iterator>::reference;
template <class Iterator>
using iter_difference_t = typename std::iterator_traits<Iterator>::difference_type;

namespace ranges {

template <class Range>
using iterator_t = decltype(std::begin(std::declval<Range&>()));
template <class Range>
using range_value_t = iter_value_t<iterator_t<Range>>;
template <class Range>
using range_reference_t = iter_reference_t<iterator_t<Range>>;
template <class Range>
using range_difference_t = iter_difference_t<iterator_t<Range>>;

}  // namespace ranges
}  // namespace ck
