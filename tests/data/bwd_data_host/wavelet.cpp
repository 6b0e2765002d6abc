// Family wavelet: load waves and math waves.
#include "configs.hpp"

namespace ckgen::instances {
using Family = BwdDataWavelet;
using Two = layout::NHWGC_GKYXC_NHWGK;
inline constexpr ConvSpec Any = ConvSpec::Default;
inline constexpr ConvSpec Pointwise = ConvSpec::Filter1x1Stride1Pad0;
using Two16 = Numbers<64, 64, 32, 32, 4, 4, 2, 8, 4, 8>;
using Four16 = Numbers<64, 64, 32, 32, 2, 2, 4, 8, 8, 8>;
using Full = Tuple<tags::NHWGC>;

CKGEN_TEST_INSTANCE(wavelet_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Any, Two16)
CKGEN_TEST_INSTANCE(wavelet_bf16, Two, dtype::bf16, functions::PassThrough, Tuple<>, Tuple<>, Any, Four16)
CKGEN_TEST_INSTANCE(wavelet_pointwise_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Pointwise, Four16)
CKGEN_TEST_INSTANCE(wavelet_residual_f16, Two, dtype::f16, functions::AddResidual, Full, Tuple<half_t>, Any, Two16)
}  // namespace ckgen::instances
