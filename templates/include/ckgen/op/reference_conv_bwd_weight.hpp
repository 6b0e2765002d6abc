// CPU reference of grouped convolution backward weight: plain loops, sums in double. Host memory, any ndim and strides.
#pragma once

#include "ckgen/config/dtypes.hpp"
#include "ckgen/conv/problem.hpp"

namespace ckgen::reference {

// Writes every element of wei. Throws std::invalid_argument if the sizes are not those of a convolution, or if the
// weight overlaps tensors that are read.
template <class DataType>
struct ReferenceConvBwdWeight {
    using In = typename DataType::In;
    using Wei = typename DataType::Wei;
    using Out = typename DataType::Out;
    // `codes`: the encoding to which operands are rounded if they are multiplied as 8-bit floating point.
    static void Run(const conv::Problem& problem, const In* in, Wei* wei, const Out* out, F8Codes codes = kF8Codes);
};

}  // namespace ckgen::reference
