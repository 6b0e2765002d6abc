// Copied by ckgen from templates/include/ckgen/conv/problem.hpp. Do not edit; run: ckgen generate
// A convolution problem as host code sees it, in CK's index convention for every layout. Lengths and strides have the
// order G, N, C, spatial (input), G, K, C, filter (weight), G, N, K, spatial (output). Strides are in elements; K and C
// count per group.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "ckgen/config/operations.hpp"
#include "ckgen/types.hpp"

namespace ckgen::conv {

struct Tensor {
    std::array<int64, 6> lengths{};
    std::array<int64, 6> strides{};

    // Elements from one position to the next in memory, for tensors whose positions are packed. Valid for every length
    // of the innermost dimension.
    int64 position_stride(int ndim) const {
        for(int d = ndim - 1; d >= 0; --d)
            if(lengths[3 + d] > 1)
                return strides[3 + d];
        return lengths[1] > 1 ? strides[1] : (lengths[0] - 1) * strides[0] + lengths[2];
    }
};

struct Problem {
    int ndim = 0;
    int split_k = 1;
    Tensor in, wei, out;
    std::array<int64, 3> strides{}, dilations{}, left_pads{}, right_pads{};

    const Tensor& tensor(TensorName name) const {
        return name == TensorName::in ? in : name == TensorName::wei ? wei : out;
    }
    int64 groups() const { return in.lengths[0]; }
    int64 images() const { return in.lengths[1]; }
    int64 in_channels() const { return in.lengths[2]; }
    int64 out_channels() const { return wei.lengths[1]; }
    int64 taps() const { return product(wei); }
    int64 out_positions() const { return product(out); }
    int64 gemm_k() const { return images() * out_positions(); }
    int64 wei_elements() const { return groups() * out_channels() * in_channels() * taps(); }

    // 2 * G * N * K * C * prod(out) * prod(filter), CK's convention.
    double flops() const { return 2. * static_cast<double>(gemm_k()) * static_cast<double>(wei_elements()); }

private:
    int64 product(const Tensor& tensor) const {
        int64 result = 1;
        for(int d = 0; d < ndim; ++d)
            result *= tensor.lengths[3 + d];
        return result;
    }
};

// The dimensions of a tensor from the slowest to the fastest, as indices of lengths and strides. Entries after them are
// not read.
using Axes = std::array<int, 6>;

// The axes of a layout tag.
template <class Tag>
Axes axes_of() {
    Axes axes{};
    int rank = 0;
    for(const int axis : Tag::axes)
        axes[static_cast<std::size_t>(rank++)] = axis;
    return axes;
}

inline constexpr int kChannels = 2;  // the index of C or K of the input and the output, and of C of the weight

// Memory order of the tensors.
struct MemoryOrder {
    Axes in, wei, out;
    bool packed_output = true;  // the output's positions follow each other without gaps

    const Axes& of(TensorName tensor) const {
        return tensor == TensorName::in ? in : tensor == TensorName::wei ? wei : out;
    }

    template <class Layout>
    static MemoryOrder of(bool packed_output) {
        return {axes_of<typename Layout::In>(), axes_of<typename Layout::Wei>(), axes_of<typename Layout::Out>(),
                packed_output};
    }
};

// True if neighbouring channels are contiguous.
inline bool channels_last(const Axes& axes, int ndim) { return axes[static_cast<std::size_t>(2 + ndim)] == kChannels; }
// True if the groups are the slowest dimension.
inline bool groups_outermost(const Axes& axes) { return axes[0] == 0; }

// Empty if the problem is valid for every kernel with this order; else one sentence with the rule in brackets and the
// numbers. The weight has no gaps.
std::string invalid_reason(const Problem& problem, const MemoryOrder& order);

}  // namespace ckgen::conv
