// What a convolution's result is combined with: D tensors and the function's scalars, as host code sees them.
#pragma once

#include <vector>

#include "ckgen/conv/problem.hpp"

namespace ckgen::conv {

// Lengths and strides are ordered G, N, C, spatial. A stride of 0 repeats one value; so does a length of 1.
struct DTensor {
    const void* data = nullptr;
    Tensor shape;
};

struct Fusion {
    std::vector<DTensor> d;
    std::vector<float> scalars;  // all, in the function's order, or none: its defaults
};

}  // namespace ckgen::conv
