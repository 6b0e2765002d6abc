// Names that programs for CK use without running them: short names, layouts and types that no instance has, and the
// operators of backward weight with D tensors.
#include "ck/host_utility/device_prop.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_data.hpp"
#include "ck/library/reference_tensor_operation/cpu/reference_conv_bwd_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/convolution_backward_data.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_data_scale.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_bilinear.hpp"
#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight_scale.hpp"
#include "ck/library/utility/device_memory.hpp"
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

// Takes the types of the tensors.
struct Second {
    void operator()(ck::half_t& e, const float&, const ck::half_t& d) const { e = d; }
};

// True if the references read a D tensor by its own strides: the result is D.
bool reference_reads(const HostTensorDescriptor& d_descriptor) {
    using Half = Tensor<ck::half_t>;
    const HostTensorDescriptor images({2, 2, 3, 2, 4}), weights({2, 2, 3, 1, 1}), outputs({2, 2, 2, 2, 4});
    const std::vector<ck::long_index_t> ones{1, 1}, zeros{0, 0};
    Half d(d_descriptor);
    ck::half_t next(0.f);
    for(auto& value : d.mData)
        value = ++next;
    const auto is_d = [&](const Half& result) {
        bool right = true;
        result.ForEach([&](const Half& tensor, std::vector<std::size_t> at) {
            const ck::half_t value = tensor(at);
            for(std::size_t i = 0; i < at.size(); ++i)
                at[i] = d.GetLengths()[i] == 1 ? 0 : at[i];
            right = right && value == d(at);
        });
        return right;
    };
    namespace host = ck::tensor_operation::host;
    Half in(images), wei(weights), out(outputs);
    host::ReferenceConvBwdData<2, ck::half_t, ck::half_t, ck::half_t, Second, PassThrough, PassThrough, 0, 0, 1> data;
    data.MakeInvoker().Run(data.MakeArgument(in, wei, out, ones, ones, zeros, zeros, Second{}, {}, {}, {}, {}, {d}));
    // Here the weight has the lengths of the images above, and outputs have one position.
    Half image(images), filter(images), gradient(HostTensorDescriptor({2, 2, 2, 1, 1}));
    host::ReferenceConvBwdWeight<2, ck::half_t, ck::half_t, ck::half_t, PassThrough, Second, PassThrough, 0, 0, 1>
        weight;
    weight.MakeInvoker().Run(
        weight.MakeArgument(image, filter, gradient, ones, ones, zeros, zeros, {}, Second{}, {}, {}, {}, {d}));
    return is_d(in) && is_d(filter);
}
bool references_read_d() {
    const bool right = reference_reads(HostTensorDescriptor({2, 2, 3, 2, 4})) &&
                       reference_reads(HostTensorDescriptor({2, 2, 3, 2, 4}, {3, 48, 1, 24, 6})) &&
                       reference_reads(HostTensorDescriptor({2, 1, 3, 1, 1})) &&
                       reference_reads(HostTensorDescriptor({2, 1, 3, 1, 4}, {9, 70, 3, 80, 0}));
    try {
        reference_reads(HostTensorDescriptor({2, 2, 3, 2, 3}));
    } catch(const std::invalid_argument&) {
        return right;
    }
    return false;
}

bool copies() {
    const std::array<float, 3> values{1.f, 2.f, 3.f};
    std::array<float, 3> back{};
    DeviceMem memory(sizeof(values));
    const bool done = hipSetDevice(0) == hipSuccess &&
                      hipMemcpyAsync(memory.GetDeviceBuffer(), values.data(), sizeof(values), hipMemcpyHostToDevice,
                                     nullptr) == hipSuccess &&
                      hipMemcpyAsync(back.data(), memory.GetDeviceBuffer(), sizeof(values), hipMemcpyDeviceToHost,
                                     nullptr) == hipSuccess &&
                      hipStreamSynchronize(nullptr) == hipSuccess;
    return done && back == values;
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
              << rounds_int8() << right_limits() << references_read_d() << copies();
    for(const char* name : {"gfx900", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100"}) {
        setenv("CKGEN_HOST_DEVICE_NAME", name, 1);
        std::cout << ' ' << ck::is_xdl_supported() << ck::is_lds_direct_load_supported();
    }
    std::cout << '\n';
    return ops.front()->GetTypeIdHashCode().empty() ? EXIT_FAILURE : EXIT_SUCCESS;
}
