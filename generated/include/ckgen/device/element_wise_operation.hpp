// Copied by ckgen from templates/include/ckgen/device/element_wise_operation.hpp. Do not edit; run: ckgen generate
// Element-wise functions that operators are parameterised with.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::tensor_operation::element_wise {

// y = x
struct PassThrough {
    template <class Y, class X>
    CKGEN_HD void operator()(Y& y, const X& x) const {
        y = Convert<Y>::from(to_float(x));
    }
};

}  // namespace ckgen::tensor_operation::element_wise
