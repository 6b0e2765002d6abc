// Sums over a number of elements.
#pragma once

#include <iterator>
#include <numeric>

namespace ck {

template <class T, class Iterator, class Count, class Operation>
T accumulate_n(Iterator first, Count count, T start, Operation operation) {
    return std::accumulate(first, std::next(first, count), start, operation);
}

}  // namespace ck
