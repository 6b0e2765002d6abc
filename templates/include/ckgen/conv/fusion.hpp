// Operands of the element-wise function, as host code sees them: D tensors and scalars.
#pragma once

#include <vector>

#include "ckgen/conv/problem.hpp"

namespace ckgen::conv {

// Lengths and strides have the order G, N, C, spatial. A stride of 0 or a length of 1 repeats one value.
struct DTensor {
    const void* data = nullptr;
    Tensor shape;
};

struct Fusion {
    std::vector<DTensor> d;
    std::vector<float> scalars;  // all scalars in the function's order, or none for its defaults
};

}  // namespace ckgen::conv
