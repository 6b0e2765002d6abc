// Family wavelet: load waves and math waves.
#include "configs.hpp"

namespace ckgen::instances {
using Family = BwdDataWavelet;
using Two = layout::NHWGC_GKYXC_NHWGK;
inline constexpr ConvSpec Any = ConvSpec::Default;
inline constexpr ConvSpec Pointwise = ConvSpec::Filter1x1Stride1Pad0;
using Two16 = Numbers<64, 64, 32, 32, 4, 4, 2, 8, 4, 8>;
using Four16 = Numbers<64, 64, 32, 32, 2, 2, 4, 8, 8, 8>;
// A tile of GEMM-K of a slot's width times eight, and of two; 16-wide atoms.
using Deep64 = Numbers<128, 64, 64, 32, 4, 4, 2, 8, 8, 8>;
using Flat16 = Numbers<64, 64, 16, 32, 1, 1, 4, 8, 8, 8>;
using Narrow16 = Numbers<64, 32, 32, 16, 1, 2, 4, 8, 8, 8>;
using Three = layout::NDHWGC_GKZYXC_NDHWGK;
using Full = Tuple<tags::NHWGC>;

CKGEN_TEST_INSTANCE(wavelet_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Any, Two16)
CKGEN_TEST_INSTANCE(wavelet_bf16, Two, dtype::bf16, functions::PassThrough, Tuple<>, Tuple<>, Any, Four16)
CKGEN_TEST_INSTANCE(wavelet_pointwise_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Pointwise, Four16)
CKGEN_TEST_INSTANCE(wavelet_deep_3d_bf16, Three, dtype::bf16, functions::PassThrough, Tuple<>, Tuple<>, Any, Deep64)
CKGEN_TEST_INSTANCE(wavelet_flat_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Any, Flat16)
CKGEN_TEST_INSTANCE(wavelet_narrow_f16, Two, dtype::f16, functions::PassThrough, Tuple<>, Tuple<>, Any, Narrow16)
CKGEN_TEST_INSTANCE(wavelet_residual_f16, Two, dtype::f16, functions::AddResidual, Full, Tuple<half_t>, Any, Two16)

// Loads go directly to LDS where the platform has such loads and both operands have 16 bytes per lane.
template <class Config>
inline constexpr bool kDirect = conv::kDirectBwdData<typename Family::Checked<Config>>;
static_assert(kDirect<wavelet_bf16> == platform::kDirectLds && kDirect<wavelet_deep_3d_bf16> == platform::kDirectLds);
static_assert(kDirect<wavelet_flat_f16> == platform::kDirectLds);
static_assert(!kDirect<wavelet_narrow_f16>, "rows of B have a pad");
static_assert(!kDirect<wavelet_f16>, "8 bytes per lane");
}  // namespace ckgen::instances
