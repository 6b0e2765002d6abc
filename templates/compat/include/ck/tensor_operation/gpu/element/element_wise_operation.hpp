// CK's include path; the definitions are in ckgen's header, but for functions that only programs name.
#pragma once

#include "ck/ck.hpp"
#include "ckgen/device/element_wise_operation.hpp"

namespace ck::tensor_operation::element_wise {

// y = log(1 + exp(alpha * e)) / alpha
struct SoftRelu {
    static constexpr const char* name = "SoftRelu";
    CKGEN_HD SoftRelu(float alpha = 1.f) : alpha_(alpha) {}
    template <class Y, class E>
    CKGEN_HD void operator()(Y& y, const E& e) const {
        y = Convert<Y>::from(__builtin_logf(1.f + math::exp(alpha_ * to_float(e))) / alpha_);
    }
    float alpha_;
};

}  // namespace ck::tensor_operation::element_wise
