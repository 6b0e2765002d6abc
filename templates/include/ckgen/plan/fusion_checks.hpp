// Checks of functions and D tensors, which every operation's result may have.
#pragma once

#include "ckgen/plan/plan.hpp"

namespace ckgen::conv {

// Refuses strides in bytes of the third and all further dimensions that exceed 31 bits.
std::string check_inner_strides(const std::string& name, const Tensor& tensor, int ndim, int bytes);

// A D tensor with stride 0 in every dimension that is broadcast.
Tensor spread(const DTensorTraits& traits, const Tensor& tensor, int ndim);

// Checks D tensors and scalars against the function. `result` is the address of the result.
std::string check_fusion(const InstanceTraits& t, const Problem& p, const Fusion& fusion, const void* result);

}  // namespace ckgen::conv
