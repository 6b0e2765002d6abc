// Instances without a function, of both families.
#include "configs.hpp"

namespace ckgen::instances {
using Family = BwdDataXdl;
using One = layout::NWGC_GKXC_NWGK;
using Two = layout::NHWGC_GKYXC_NHWGK;
using Three = layout::NDHWGC_GKZYXC_NDHWGK;
using TwoGroupsOutermost = layout::GNHWC_GKYXC_GNHWK;
using Plain = functions::PassThrough;
inline constexpr ConvSpec Any = ConvSpec::Default;
inline constexpr ConvSpec Pointwise = ConvSpec::Filter1x1Stride1Pad0;

using Generic16 = Numbers<32, 32, 32, 32, 0, 1, 1, 1, 1, 1>;
using Generic32 = Numbers<32, 32, 16, 32, 0, 1, 1, 1, 1, 1>;
using Wide16 = Numbers<64, 64, 32, 32, 0, 4, 2, 8, 4, 8>;
using Wide32 = Numbers<64, 64, 16, 32, 0, 4, 1, 4, 4, 4>;
using Copied16 = Numbers<64, 64, 32, 32, 0, 4, 2, 2, 4, 1>;
using Tall16 = Numbers<128, 32, 64, 16, 0, 2, 1, 2, 2, 2>;

CKGEN_TEST_INSTANCE(generic_1d_f16, One, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Generic16)
CKGEN_TEST_INSTANCE(generic_2d_f16, Two, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Generic16)
CKGEN_TEST_INSTANCE(generic_3d_f16, Three, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Generic16)
CKGEN_TEST_INSTANCE(generic_2d_bf16, Two, dtype::bf16, Plain, Tuple<>, Tuple<>, Any, Generic16)
CKGEN_TEST_INSTANCE(generic_1d_f32, One, dtype::f32, Plain, Tuple<>, Tuple<>, Any, Generic32)
CKGEN_TEST_INSTANCE(generic_2d_f32, Two, dtype::f32, Plain, Tuple<>, Tuple<>, Any, Generic32)
CKGEN_TEST_INSTANCE(generic_3d_f32, Three, dtype::f32, Plain, Tuple<>, Tuple<>, Any, Generic32)
CKGEN_TEST_INSTANCE(wide_2d_f16, Two, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Wide16)
CKGEN_TEST_INSTANCE(wide_2d_bf16, Two, dtype::bf16, Plain, Tuple<>, Tuple<>, Any, Wide16)
CKGEN_TEST_INSTANCE(wide_2d_f32, Two, dtype::f32, Plain, Tuple<>, Tuple<>, Any, Wide32)
CKGEN_TEST_INSTANCE(wide_3d_f16, Three, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Wide16)
CKGEN_TEST_INSTANCE(wide_gnhwc_f16, TwoGroupsOutermost, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Wide16)
CKGEN_TEST_INSTANCE(tall_2d_f16, Two, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Tall16)
CKGEN_TEST_INSTANCE(pointwise_2d_f16, Two, dtype::f16, Plain, Tuple<>, Tuple<>, Pointwise, Wide16)
CKGEN_TEST_INSTANCE(generic_ngchw_f16, layout::NGCHW_GKYXC_NGKHW, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Generic16)
CKGEN_TEST_INSTANCE(generic_ngcdhw_f32, layout::NGCDHW_GKZYXC_NGKDHW, dtype::f32, Plain, Tuple<>, Tuple<>, Any,
                    Generic32)
CKGEN_TEST_INSTANCE(copied_ngchw_f16, layout::NGCHW_GKCYX_NGKHW, dtype::f16, Plain, Tuple<>, Tuple<>, Any, Copied16)
}  // namespace ckgen::instances
