// Sizes of a problem for counting, with which the selector compares problems. Products saturate.
#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "ckgen/config/operations.hpp"
#include "ckgen/types.hpp"

namespace ckgen::conv {

inline constexpr int64 kCeiling = int64{1} << 40;  // far above any supported problem

inline int64 saturated(int64 a, int64 b) {
    int64 result = 0;
    return __builtin_mul_overflow(a, b, &result) || result > kCeiling ? kCeiling : result;
}

// The quotient, rounded up; a is not negative.
inline int64 divide_up(int64 a, int64 b) { return a / b + (a % b != 0); }

// K and C count per group.
struct ProblemSizes {
    int ndim;
    int64 groups, batch, k, c;
    std::array<int64, 3> filter, input, strides, dilations, left_pads, right_pads;

    auto key() const {
        return std::tie(ndim, groups, batch, k, c, filter, input, strides, dilations, left_pads, right_pads);
    }
    int64 output(int d) const {
        const int64 reach = (filter[d] - 1) * dilations[d] + 1;
        return (input[d] + left_pads[d] + right_pads[d] - reach) / strides[d] + 1;
    }
    // Backward data: the positions that a tap reaches are those of one of so many matrix products along a dimension.
    int64 tilde(int d) const { return strides[d] / std::gcd(strides[d], dilations[d]); }
    // The product of `first` and size(d) of every dimension d.
    template <class Size>
    int64 product(int64 first, const Size& size) const {
        int64 result = saturated(1, first);
        for(int d = 0; d < ndim; ++d)
            result = saturated(result, size(d));
        return result;
    }
    int64 taps() const {
        return product(1, [&](int d) { return filter[d]; });
    }
    int64 output_positions() const {
        return product(batch, [&](int d) { return output(d); });
    }
    int64 input_positions() const {
        return product(batch, [&](int d) { return input[d]; });
    }
    int64 elements(TensorName tensor) const {
        if(tensor == TensorName::wei)
            return saturated(saturated(groups, k), saturated(c, taps()));
        const bool out = tensor == TensorName::out;
        return saturated(saturated(groups, out ? k : c), out ? output_positions() : input_positions());
    }
};

// The sizes of the problem in conv/col2im.hpp, as with_columns of ckgen/conv/columns.py has them: the channels are the
// columns, at most `most` if a filter row has no more; input positions are cells.
inline ProblemSizes with_columns(ProblemSizes p, int64 most) {
    const auto last = static_cast<std::size_t>(p.ndim - 1);
    const auto cells = [&](std::size_t d) { return (p.input[d] - 1 + p.left_pads[d]) / p.strides[d] + 1; };
    p.c = saturated(p.c, p.filter[last]);
    p.input[last] = cells(last);
    p.filter[last] = p.strides[last] = p.dilations[last] = 1;
    p.left_pads[last] = p.right_pads[last] = 0;
    if(p.ndim == 1 || p.dilations[last - 1] != 1 || saturated(p.strides[last - 1], p.c) > most)
        return p;
    const std::size_t row = last - 1;
    const int64 first = p.left_pads[row] / p.strides[row], rows = cells(row) - first;
    const int64 taps = divide_up(p.filter[row], p.strides[row]);
    p.right_pads[row] = std::max<int64>(0, p.output(static_cast<int>(row)) + taps - 1 - rows - first);
    p.c *= p.strides[row];
    p.filter[row] = taps;
    p.input[row] = rows;
    p.left_pads[row] = first;
    p.strides[row] = 1;
    return p;
}

// The sizes of one group as one matrix product: M, N per tap, the taps that N runs over, and the number of terms in the
// longest sum. The record of the operation in ckgen/operations has the same.
struct Extents {
    int64 m, n, taps, k;
    int64 tap_channels;  // K channels of a tap in GEMM-K, or 0 if M counts them
};

}  // namespace ckgen::conv
