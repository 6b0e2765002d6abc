// Algorithms of the standard library over ranges.
#pragma once

#include <algorithm>
#include <iterator>

#include "ck/library/utility/ranges.hpp"

namespace ck::ranges {

template <class Range, class Out>
Out copy(const Range& range, Out out) {
    return std::copy(std::begin(range), std::end(range), out);
}
template <class T, class Range>
void fill(Range&& range, const T& value) {
    std::fill(std::begin(range), std::end(range), value);
}
template <class Range, class Out, class Operation>
Out transform(const Range& range, Out out, Operation operation) {
    return std::transform(std::begin(range), std::end(range), out, operation);
}
template <class Range, class Predicate>
bool all_of(const Range& range, Predicate predicate) {
    return std::all_of(std::begin(range), std::end(range), predicate);
}
template <class Range, class T>
auto find(Range&& range, const T& value) {
    return std::find(std::begin(range), std::end(range), value);
}

}  // namespace ck::ranges
