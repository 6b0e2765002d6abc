// Runs operators of CK's class template for backward weight with D tensors on random problems, with random scalars, and
// compares with the function of the reference's sums.
#include "class_templates.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_bwd_weight_multiple_d_xdl_cshuffle.hpp"

#if !defined(OPERAND_OP)
#define OPERAND_OP PassThrough
#endif
#if !defined(D_LAYOUT)
#define D_LAYOUT GKYXC
#endif

namespace ck::own {

using tensor_operation::element_wise::Bilinear;
using tensor_operation::element_wise::Scale;

// A function of the program: two D tensors, one of them with a value per channel, and a member that is half a word.
struct GatedSum {
    half_t factor = half_t(1.f);
    template <class Y, class E, class D0, class D1>
    __host__ __device__ void operator()(Y& y, const E& e, const D0& d0, const D1& d1) const {
        y = e + static_cast<float>(factor) * (d0 * d1);
    }
};
// Bilinear with the types of the tensors.
struct HalfBilinear {
    float alpha, beta;
    __host__ __device__ void operator()(half_t& y, const float& e, const half_t& d0) const {
        y = type_convert<half_t>(alpha * e + beta * type_convert<float>(d0));
    }
};
// An operation that no factor of the sum can stand for.
struct Square {
    template <class Y, class X>
    __host__ __device__ void operator()(Y& y, const X& x) const {
        y = x * x;
    }
};

// clang-format off: one kind of argument per line
template <index_t NDim, class In, class Wei, class Out, class Ds, class InData, class WeiData, class DsData, class InOp, class WeiOp,
          class OutOp, WeightSpec Spec, index_t Vector, class... Compute>
using Fused = tensor_operation::device::DeviceGroupedConvBwdWeightMultipleD_Xdl_CShuffle<
    NDim, In, Wei, Out, Ds, InData, WeiData, InData, float, DsData, InOp, WeiOp, OutOp, Spec,
    64, 64, 64, 4, 8, 32, 32, 2, 2,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, Vector, 4, true,
    S<1, 4, 8, 2>, S<0, 3, 1, 2>, S<0, 2, 1, 3>, 2, Vector, 4, true,
    1, 1, S<1, 16, 1, 4>, Vector, Compute...>;
// clang-format on

using In2d = Layouts<2, NHWGC, GKYXC, NHWGK>;
using In3d = Layouts<3, GNDHWC, GKZYXC, GNDHWK>;
template <class Ds, class InOp, class WeiOp, class OutOp, index_t Vector, class... Compute>
using Half2d =
    Fused<2, NHWGC, GKYXC, NHWGK, Ds, half_t, half_t, std::conditional_t<Ds::Size() == 0, Tuple<>, Tuple<half_t>>, InOp,
          WeiOp, OutOp, WeightSpec::Default, Vector, Compute...>;
using Bilinear2d = Half2d<Tuple<D_LAYOUT>, OPERAND_OP, Bilinear, PassThrough, 2>;
using Scaled2d = Half2d<Tuple<>, PassThrough, Scale, PassThrough, 1>;
using Plain2d = Half2d<Tuple<>, PassThrough, PassThrough, PassThrough, 2>;
using Operands2d = Half2d<Tuple<GKYXC>, Scale, Bilinear, Scale, 2>;
using EightBits2d = Half2d<Tuple<GKYXC>, PassThrough, HalfBilinear, PassThrough, 8, bf8_t, f8_t>;
using Pointwise3d = Fused<3, GNDHWC, GKZYXC, GNDHWK, Tuple<GKZYXC>, float, float, Tuple<float>, PassThrough, Bilinear,
                          PassThrough, WeightSpec::Filter1x1Stride1Pad0, 2>;
using Gated2d = Fused<2, NHWGC, GKYXC, NHWGK, Tuple<GKYXC, GC>, bhalf_t, float, Tuple<float, bhalf_t>, PassThrough,
                      GatedSum, PassThrough, WeightSpec::Default, 4>;

inline std::mt19937& numbers() {
    static std::mt19937 generator(20);
    return generator;
}
inline int between(int least, int most) { return std::uniform_int_distribution<>(least, most)(numbers()); }

// Channels are multiples of `channels`.
inline utils::conv::ConvParam any_problem(int ndim, int channels, bool pointwise) {
    const auto list = [&](int least, int most) {
        std::vector<index_t> values(ndim);
        for(auto& value : values)
            value = between(least, most);
        return values;
    };
    const auto ones = std::vector<index_t>(ndim, 1), zeros = std::vector<index_t>(ndim, 0);
    const int g = between(1, 3), n = between(1, 3), k = channels * between(1, 9), c = channels * between(1, 9);
    if(pointwise)
        return {ndim, g, n, k, c, ones, list(3, 6), ones, ones, zeros, zeros};
    return {ndim, g, n, k, c, list(1, 3), list(5, 9), list(1, 2), list(1, 2), list(0, 1), list(0, 2)};
}

// The D tensors of an operator in memory, and their values as numbers.
template <class T>
struct OneD {
    Tensor<T> values;
    OnDevice<T> memory;
    explicit OneD(const HostTensorDescriptor& descriptor) : values(integers<T>(descriptor)), memory(values) {}
};

// Runs an operator whose result begins as NaN, or as its first D tensor if `in_place`. Expected: the function of a sum
// and of the D tensors' elements at (g, k, c, filter).
template <class Operator, class Order, class InData, class WeiData, class... Ds, class InOp, class WeiOp, class OutOp,
          class Expected>
bool fused(const utils::conv::ConvParam& p, index_t split_k, bool in_place, InOp in_op, WeiOp wei_op, OutOp out_op,
           const Expected& expected, const OneD<Ds>&... ds) {
    constexpr index_t n = Order::ndim;
    const auto in =
        integers<InData>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<typename Order::In>(p));
    const auto out =
        integers<InData>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<typename Order::Out>(p));
    Tensor<WeiData> wei(utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<typename Order::Wei>(p));
    Tensor<float> sums(wei.mDesc);
    tensor_operation::host::ReferenceConvBwdWeight<n, InData, float, InData, PassThrough, PassThrough, PassThrough>
        reference;
    reference.MakeInvoker().Run(reference.MakeArgument(in, sums, out, p.conv_filter_strides_, p.conv_filter_dilations_,
                                                       p.input_left_pads_, p.input_right_pads_, PassThrough{},
                                                       PassThrough{}, PassThrough{}));
    for(auto& value : wei.mData)
        value = type_convert<WeiData>(std::numeric_limits<float>::quiet_NaN());
    const OnDevice<InData> in_memory(in), out_memory(out);
    const OnDevice<WeiData> own_memory(wei);
    std::array<const void*, sizeof...(Ds)> pointers{ds.memory.GetDeviceBuffer()...};
    void* const result = in_place ? const_cast<void*>(pointers[0]) : own_memory.GetDeviceBuffer();

    const Sizes<index_t, n> i(in.mDesc), w(wei.mDesc), o(out.mDesc);
    using Lengths = std::array<index_t, n + 3>;
    const std::array<Lengths, sizeof...(Ds)> d_lengths{Sizes<index_t, n>(ds.values.mDesc).lengths...};
    const std::array<Lengths, sizeof...(Ds)> d_strides{Sizes<index_t, n>(ds.values.mDesc).strides...};
    auto conv = Operator{};
    auto argument = conv.MakeArgument(in_memory.GetDeviceBuffer(), result, out_memory.GetDeviceBuffer(), pointers,
                                      i.lengths, i.strides, w.lengths, w.strides, o.lengths, o.strides, d_lengths,
                                      d_strides, spatial<n>(p.conv_filter_strides_),
                                      spatial<n>(p.conv_filter_dilations_), spatial<n>(p.input_left_pads_),
                                      spatial<n>(p.input_right_pads_), in_op, wei_op, out_op, split_k);
    DeviceMem workspace(argument.GetWorkspaceSizeBytes());
    conv.SetWorkSpacePointer(&argument, workspace.GetDeviceBuffer());
    if(!conv.IsSupportedArgument(argument)) {
        std::cout << conv.GetUnsupportedReason(&argument) << std::endl;
        return false;
    }
    conv.MakeInvoker().Run(argument, StreamConfig{nullptr, false});
    hip_check_error(hipMemcpy(wei.data(), result, wei.GetElementSpaceSizeInBytes(), hipMemcpyDeviceToHost));
    Tensor<WeiData> wanted(wei.mDesc);
    wanted.ForEach([&](auto& self, const auto& at) {
        self(at) = type_convert<WeiData>(static_cast<float>(expected(sums(at), at)));
    });
    return utils::check_err(wei, wanted, conv.GetTypeString());
}

template <class T>
float number(const Tensor<T>& tensor, std::vector<std::size_t> at) {
    for(std::size_t d = 0; d < at.size(); ++d)
        at[d] = tensor.mDesc.GetStrides()[d] == 0 ? 0 : at[d];
    return type_convert<float>(tensor(at));
}
template <class Wei>
HostTensorDescriptor weight_like(const utils::conv::ConvParam& p) {
    return utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<Wei>(p);
}

// Random problems of each kind; the number of those that are right. Scalars are multiples of 1/4, so that products and
// sums are exact in f32 and each result is rounded once.
inline float scalar() { return 0.25f * static_cast<float>(between(-8, 8)); }

template <class Operator, class Order, class T, class WeiData, class Function = Bilinear, class InOp, class OutOp>
bool bilinear(int channels, bool pointwise, const InOp& in_op, const OutOp& out_op, float factor) {
    const auto p = any_problem(Order::ndim, channels, pointwise);
    const float alpha = scalar(), beta = scalar();
    const OneD<WeiData> d(weight_like<typename Order::Wei>(p));
    return fused<Operator, Order, T, WeiData>(
        p, between(1, 3), between(0, 1) == 1, in_op, Function{alpha, beta}, out_op,
        [&](float sum, const auto& at) { return alpha * factor * sum + beta * number(d.values, at); }, d);
}
inline bool scaled() {
    const float scale = scalar();
    return fused<Scaled2d, In2d, half_t, half_t>(any_problem(2, 1, false), between(1, 3), false, PassThrough{},
                                                 Scale{scale}, PassThrough{},
                                                 [&](float sum, const auto&) { return scale * sum; });
}
inline bool plain() {
    return fused<Plain2d, In2d, half_t, half_t>(any_problem(2, 2, false), between(1, 3), false, PassThrough{},
                                                PassThrough{}, PassThrough{},
                                                [](float sum, const auto&) { return sum; });
}
inline bool gated() {
    const auto p = any_problem(2, 4, false);
    const float factor = scalar();
    const OneD<float> d0(weight_like<GKYXC>(p));
    const std::vector<std::size_t> lengths{d0.values.GetLengths()[0], 1, d0.values.GetLengths()[2], 1, 1};
    const OneD<bhalf_t> d1(HostTensorDescriptor(lengths, std::vector<std::size_t>{lengths[2], 0, 1, 0, 0}));
    return fused<Gated2d, In2d, bhalf_t, float>(
        p, between(1, 3), false, PassThrough{}, GatedSum{half_t(factor)}, PassThrough{},
        [&](float sum, const auto& at) { return sum + factor * (number(d0.values, at) * number(d1.values, at)); }, d0,
        d1);
}

// True if a run uses a workspace whose size was asked with an equal argument.
inline bool asked_before() {
    const utils::conv::ConvParam p(2, 1, 4, 8, 8, {3, 3}, {9, 9}, {1, 1}, {1, 1}, {1, 1}, {1, 1});
    const OnDevice<half_t> in(
        integers<half_t>(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<NHWGC>(p)));
    const OnDevice<half_t> out(
        integers<half_t>(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<NHWGK>(p)));
    const OnDevice<half_t> wei(integers<half_t>(weight_like<GKYXC>(p)));
    const auto sizes = [](const HostTensorDescriptor& descriptor) { return Sizes<index_t, 2>(descriptor); };
    const auto i = sizes(utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<NHWGC>(p));
    const auto w = sizes(weight_like<GKYXC>(p));
    const auto o = sizes(utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<NHWGK>(p));
    auto conv = Plain2d{};
    const auto argument = [&] {
        return conv.MakeArgumentPointer(in.GetDeviceBuffer(), wei.GetDeviceBuffer(), out.GetDeviceBuffer(), {},
                                        i.lengths, i.strides, w.lengths, w.strides, o.lengths, o.strides, {}, {},
                                        spatial<2>(p.conv_filter_strides_), spatial<2>(p.conv_filter_dilations_),
                                        spatial<2>(p.input_left_pads_), spatial<2>(p.input_right_pads_), PassThrough{},
                                        PassThrough{}, PassThrough{}, 3);
    };
    const auto asked = argument(), run = argument();
    const std::size_t bytes = conv.GetWorkSpaceSize(asked.get());
    std::vector<unsigned char> before(bytes, 0xab), after(bytes);
    DeviceMem workspace(bytes);
    workspace.ToDevice(before.data());
    conv.SetWorkSpacePointer(run.get(), workspace.GetDeviceBuffer());
    conv.MakeInvokerPointer()->Run(run.get());
    workspace.FromDevice(after.data());
    return bytes > 0 && before != after;
}

}  // namespace ck::own

int main() {
    using namespace ck::own;
    int right = 0;
    const int draws = 4;
    for(int i = 0; i < draws; ++i) {
        const float in = scalar(), out = scalar();
        right += bilinear<Bilinear2d, In2d, ck::half_t, ck::half_t>(2, false, OPERAND_OP{}, PassThrough{}, 1.f);
        right += bilinear<EightBits2d, In2d, ck::half_t, ck::half_t, HalfBilinear>(8, false, PassThrough{},
                                                                                   PassThrough{}, 1.f);
        right += bilinear<Pointwise3d, In3d, float, float>(2, true, PassThrough{}, PassThrough{}, 1.f);
        right += bilinear<Operands2d, In2d, ck::half_t, ck::half_t>(2, false, Scale{in}, Scale{out}, in * out);
        right += scaled() + plain() + gated();
    }
    std::cout << Bilinear2d{}.GetTypeString() << "\n" << right << " of " << 7 * draws << " right" << std::endl;
    return right == 7 * draws && asked_before() ? EXIT_SUCCESS : EXIT_FAILURE;
}
