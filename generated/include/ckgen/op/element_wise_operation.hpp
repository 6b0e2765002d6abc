// Copied by ckgen from templates/include/ckgen/op/element_wise_operation.hpp. Do not edit; run: ckgen generate
// Element-wise functions that operators take as a parameter: CK's, with its members, and ckgen's own. Kernels compute
// them in f32. y is the result, e the result of the convolution, the others are D tensors in the operator's order.
// BUILTINS in ckgen/elementwise/function.py lists the same functions, except UnaryConvert. The members of a function
// are its scalars and nothing else.
#pragma once

#include "ckgen/math.hpp"
#include "ckgen/types.hpp"

namespace ckgen::tensor_operation::element_wise {

// y = e
struct PassThrough {
    static constexpr const char* name = "PassThrough";
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(to_float(e));
    }
};

// y = scale * e
struct Scale {
    static constexpr const char* name = "Scale";
    CKGEN_HD Scale(float scale = 1.f) : scale_(scale) {}
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(scale_ * to_float(e));
    }
    float scale_;
};

// y = e, rounded to y's type; for operands, whose values kernels take as they are.
struct UnaryConvert {
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(to_float(e));
    }
};

// y = e * scale_in * scale_wei * scale_out
struct ConvScale {
    static constexpr const char* name = "ConvScale";
    CKGEN_HD ConvScale(float scale_in = 1.f, float scale_wei = 1.f, float scale_out = 1.f)
        : scale_in_(scale_in), scale_wei_(scale_wei), scale_out_(scale_out) {}
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(to_float(e) * scale_in_ * scale_wei_ * scale_out_);
    }
    float scale_in_;
    float scale_wei_;
    float scale_out_;
};

// y = alpha * e + beta * d0
struct Bilinear {
    static constexpr const char* name = "Bilinear";
    CKGEN_HD Bilinear(float alpha = 1.f, float beta = 1.f) : alpha_(alpha), beta_(beta) {}
    template <class Y, class E, class D0>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0) const {
        y = Convert<Y>::from(alpha_ * to_float(e) + beta_ * to_float(d0));
    }
    float alpha_;
    float beta_;
};

// y = e + d0
struct AddResidual {
    static constexpr const char* name = "AddResidual";
    template <class Y, class E, class D0>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0) const {
        y = Convert<Y>::from(to_float(e) + to_float(d0));
    }
};

// y = scale * e + d0
struct ScaleAdd {
    static constexpr const char* name = "ScaleAdd";
    CKGEN_HD ScaleAdd(float scale = 1.f) : scale_(scale) {}
    template <class Y, class E, class D0>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0) const {
        y = Convert<Y>::from(scale_ * to_float(e) + to_float(d0));
    }
    float scale_;
};

// y = e + d0 where that is positive, else 0
struct AddRelu {
    static constexpr const char* name = "AddRelu";
    template <class Y, class E, class D0>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0) const {
        y = Convert<Y>::from(math::relu(to_float(e) + to_float(d0)));
    }
};

// y = e where d0, the forward activation, is positive, else 0
struct ReluGradient {
    static constexpr const char* name = "ReluGradient";
    template <class Y, class E, class D0>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0) const {
        y = Convert<Y>::from(to_float(d0) > 0.f ? to_float(e) : 0.f);
    }
};

// y = e, but at least lo and at most hi
struct Clip {
    static constexpr const char* name = "Clip";
    CKGEN_HD Clip(float lo = -1.f, float hi = 1.f) : lo_(lo), hi_(hi) {}
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(math::clamp(to_float(e), lo_, hi_));
    }
    float lo_;
    float hi_;
};

}  // namespace ckgen::tensor_operation::element_wise

// Generated code uses functions of this namespace: those above, and those that the spec defines.
namespace ckgen::functions {
using tensor_operation::element_wise::AddRelu;
using tensor_operation::element_wise::AddResidual;
using tensor_operation::element_wise::Bilinear;
using tensor_operation::element_wise::Clip;
using tensor_operation::element_wise::ConvScale;
using tensor_operation::element_wise::PassThrough;
using tensor_operation::element_wise::ReluGradient;
using tensor_operation::element_wise::Scale;
using tensor_operation::element_wise::ScaleAdd;
}  // namespace ckgen::functions
