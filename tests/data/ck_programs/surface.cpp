// Names that programs for CK use without running them: short names, layouts and types that no instance has, and the
// operators of backward weight with D tensors.
#include "ck/host_utility/device_prop.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/convolution_backward_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data_scale.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_bilinear.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_scale.hpp"
#include "ck/tensor_operation/gpu/device/device_conv_fwd.hpp"
#include "ck/utility/common_header.hpp"

using namespace ck::tensor_operation::device;
using namespace ck::tensor_operation::device::instance;

static_assert(ck::is_same_v<F16, ck::half_t> && ck::is_same_v<F8, ck::f8_t> && sizeof(BF8) == 1);
static_assert(ck::is_same_v<ck::tuple_element_t<1, ck::Tuple<F32, NHWGC>>, ck::tensor_layout::convolution::NHWGC>);
static_assert(ck::Sequence<4, 5, 6>::At(ck::Number<2>{}) == 6 && ck::Sequence<>::Size() == 0);
static_assert(sizeof(StreamConfig{nullptr, true, 0, 5, 50, false, 1}) > 0);

// Largest, lowest and smallest normal number, infinity, and whether there is a NaN.
template <class T>
std::array<float, 5> limits() {
    using Limits = ck::NumericLimits<T>;
    const auto value = [](T x) { return ck::type_convert<float>(x); };
    const float nan = value(Limits::QuietNaN());
    return {value(Limits::Max()), value(Limits::Lowest()), value(Limits::Min()), value(Limits::Infinity()),
            nan == nan ? 0.f : 1.f};
}
bool right_limits() {
    constexpr float infinite = std::numeric_limits<float>::infinity();
    constexpr ck::half_t constant = ck::NumericLimits<ck::half_t>::Max();
    const auto f8 = limits<ck::f8_t>();  // no infinity: NaN
    return constant == static_cast<ck::half_t>(65504.f) &&
           limits<ck::half_t>() == std::array{65504.f, -65504.f, 0x1p-14f, infinite, 1.f} &&
           limits<ck::bhalf_t>() == std::array{0x1.fep127f, -0x1.fep127f, 0x1p-126f, infinite, 1.f} &&
           limits<float>() == std::array{0x1.fffffep127f, -0x1.fffffep127f, 0x1p-126f, infinite, 1.f} &&
           std::array{f8[0], f8[1], f8[2], f8[4]} == std::array{448.f, -448.f, 0x1p-6f, 1.f} && f8[3] != f8[3] &&
           limits<ck::bf8_t>() == std::array{57344.f, -57344.f, 0x1p-14f, infinite, 1.f} &&
           ck::NumericLimits<std::int8_t>::Lowest() == -128;
}

template <class In, class Wei, class Out, class... Compute>
std::size_t weight_operators() {
    using Op =
        DeviceGroupedConvBwdWeight<2, In, Wei, Out, F16, F16, F16, PassThrough, PassThrough, PassThrough, Compute...>;
    return DeviceOperationInstanceFactory<Op>::GetInstances().size();
}

template <class Function, class Layouts, class Types>
std::size_t fused_weight_operators() {
    using Op = DeviceGroupedConvBwdWeightMultipleD<2, NHWGC, GKYXC, NHWGK, Layouts, F16, F16, F16, Types, PassThrough,
                                                   Function, PassThrough>;
    return DeviceOperationInstanceFactory<Op>::GetInstances().size();
}

// int8 results of a reference are rounded as those of kernels: to the nearest, ties to even.
bool rounds_int8() {
    using ck::tensor_operation::host::reference::rounded;
    return rounded<std::int8_t>(2.5f) == 2 && rounded<std::int8_t>(3.75f) == 4 && rounded<std::int8_t>(-3e9f) == -128;
}

int main() {
    using Op = DeviceGroupedConvBwdWeight<2, NHWGC, GKYXC, NHWGK, F16, F16, F16, PassThrough, PassThrough, PassThrough>;
    const auto ops = DeviceOperationInstanceFactory<Op>::GetInstances();
    std::cout << weight_operators<NHWGC, GKYXC, NHWGK>() << ' ' << weight_operators<NGCHW, GKCYX, NGKHW>() << ' '
              << weight_operators<NHWGC, GKYXC, NHWGK, BF8, F8>() << ' '
              << fused_weight_operators<Bilinear, ck::Tuple<GKYXC>, F16_Tuple>() << ' '
              << fused_weight_operators<Scale, Empty_Tuple, Empty_Tuple>() << ' ' << ck::is_xdl_supported() << '\n'
              << ops.front()->GetTypeString() << '\n'
              << ops.front()->GetTypeIdHashCode() << '\n'
              << ck::type_convert<float>(ck::type_convert<ck::bhalf_t>(1.00390625f)) << '\n'
              << rounds_int8() << right_limits();
    for(const char* name : {"gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"}) {
        setenv("CKGEN_HOST_DEVICE_NAME", name, 1);
        std::cout << ' ' << ck::is_xdl_supported() << ck::is_lds_direct_load_supported();
    }
    std::cout << '\n';
    return ops.front()->GetTypeIdHashCode().empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}
