// Every function that ckgen has, one of the kind that a spec defines, and D tensors of every layout.
#include "configs.hpp"

namespace ckgen::functions {

// The struct that the generator makes of `tanh(e * gain) + min(a, b)` with gain 0.5.
struct Mixture {
    static constexpr const char* name = "Mixture";
    float gain_ = 0.5f;

    template <class Y, class E, class D0, class D1>
    CKGEN_HD void operator()(Y& y, const E& e, const D0& d0, const D1& d1) const {
        const float e_ = to_float(e);
        const float a_ = to_float(d0);
        const float b_ = to_float(d1);
        y = Convert<Y>::from((ckgen::math::tanh((e_ * gain_)) + ckgen::math::min(a_, b_)));
    }
};

}  // namespace ckgen::functions

namespace ckgen::instances {
using Family = BwdDataXdl;
using Two = layout::NHWGC_GKYXC_NHWGK;
using Three = layout::NDHWGC_GKZYXC_NDHWGK;
inline constexpr ConvSpec Any = ConvSpec::Default;
inline constexpr ConvSpec Pointwise = ConvSpec::Filter1x1Stride1Pad0;
using Wide = Numbers<64, 64, 32, 32, 0, 4, 2, 8, 4, 8>;
using Wide32 = Numbers<64, 64, 16, 32, 0, 4, 1, 4, 4, 4>;
using Generic = Numbers<32, 32, 32, 32, 0, 1, 1, 1, 1, 1>;
using Full = Tuple<tags::NHWGC>;
using Half = Tuple<half_t>;

CKGEN_TEST_INSTANCE(scale_f16, Two, dtype::f16, functions::Scale, Tuple<>, Tuple<>, Any, Wide)
CKGEN_TEST_INSTANCE(clip_f16, Two, dtype::f16, functions::Clip, Tuple<>, Tuple<>, Any, Generic)
CKGEN_TEST_INSTANCE(bilinear_f16, Two, dtype::f16, functions::Bilinear, Full, Half, Any, Wide)
CKGEN_TEST_INSTANCE(bilinear_3d_f32, Three, dtype::f32, functions::Bilinear, Tuple<tags::GNDHWC>, Tuple<float>, Any,
                    Wide32)
CKGEN_TEST_INSTANCE(residual_f16, Two, dtype::f16, functions::AddResidual, Full, Half, Any, Wide)
CKGEN_TEST_INSTANCE(residual_generic_f16, Two, dtype::f16, functions::AddResidual, Full, Half, Any, Generic)
CKGEN_TEST_INSTANCE(residual_pointwise_f16, Two, dtype::f16, functions::AddResidual, Full, Half, Pointwise, Wide)
CKGEN_TEST_INSTANCE(scale_add_ngchw, Two, dtype::bf16, functions::ScaleAdd, Tuple<tags::NGCHW>, Tuple<bhalf_t>, Any,
                    Wide)
CKGEN_TEST_INSTANCE(add_relu_gc, Two, dtype::f16, functions::AddRelu, Tuple<tags::GC>, Tuple<float>, Any, Wide)
CKGEN_TEST_INSTANCE(add_relu_pointwise, Two, dtype::bf16, functions::AddRelu, Tuple<tags::G_C>, Tuple<bhalf_t>,
                    Pointwise, Wide)
CKGEN_TEST_INSTANCE(relu_gradient, Two, dtype::f16, functions::ReluGradient, Tuple<tags::G_NHW_C>, Half, Any, Wide)
CKGEN_TEST_INSTANCE(mixture, Two, dtype::bf16, functions::Mixture, Tuple<tags::NHWGC, tags::GC>, Tuple<float, half_t>,
                    Any, Wide)
}  // namespace ckgen::instances
