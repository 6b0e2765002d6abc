// Backward weight for each of the 34 tuples of types and layouts of CK's GTest (6 in 1D, 13 in 2D, 15 in 3D): every
// instance that the factory returns runs every problem that it supports, with split_k 1 and 2, and is compared with
// sums in f64. The variable CKGEN_INSTANCES has the number of instances of each tuple, in the order below.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <sstream>

#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"
#include "ck/library/utility/convolution_host_tensor_descriptor_helper.hpp"
#include "ck/library/utility/convolution_parameter.hpp"
#include "ck/library/utility/device_memory.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/utility/type_convert.hpp"

namespace {

using namespace ck::tensor_layout::convolution;
using ck::bhalf_t;
using ck::half_t;
using ck::index_t;
using ck::utils::conv::ConvParam;

template <int Number, index_t NDim, class In, class Wei, class Out, class InLayout, class WeiLayout, class OutLayout>
struct Tuple {
    static constexpr int number = Number;
    static constexpr index_t ndim = NDim;
    using InType = In;
    using WeiType = Wei;
    using OutType = Out;
    using Op = ck::tensor_operation::device::DeviceGroupedConvBwdWeight<
        NDim, InLayout, WeiLayout, OutLayout, In, Wei, Out, ck::tensor_operation::element_wise::PassThrough,
        ck::tensor_operation::element_wise::PassThrough, ck::tensor_operation::element_wise::PassThrough>;
    static auto in(const ConvParam& p) {
        return ck::utils::conv::make_input_host_tensor_descriptor_g_n_c_wis_packed<InLayout>(p);
    }
    static auto wei(const ConvParam& p) {
        return ck::utils::conv::make_weight_host_tensor_descriptor_g_k_c_xs_packed<WeiLayout>(p);
    }
    static auto out(const ConvParam& p) {
        return ck::utils::conv::make_output_host_tensor_descriptor_g_n_k_wos_packed<OutLayout>(p);
    }
};
template <int Number, index_t NDim, class T, class... Layouts>
using Same = Tuple<Number, NDim, T, T, T, Layouts...>;
template <int Number, index_t NDim, class... Layouts>
using Mixed = Tuple<Number, NDim, bhalf_t, float, bhalf_t, Layouts...>;

// Small problems of CK's kinds: a strided 1x1 filter, a padded filter, single channels, odd channels, and numbers of
// channels and positions that are multiples of 8.
std::vector<ConvParam> problems(index_t ndim) {
    if(ndim == 1)
        return {{1, 2, 4, 16, 24, {1}, {7}, {2}, {1}, {0}, {0}},
                {1, 2, 2, 8, 16, {3}, {9}, {1}, {1}, {1}, {1}},
                {1, 1, 1, 1, 1, {3}, {8}, {1}, {1}, {1}, {1}},
                {1, 1, 3, 5, 3, {2}, {8}, {1}, {2}, {0}, {1}},
                {1, 2, 2, 16, 8, {3}, {16}, {1}, {1}, {1}, {1}}};
    if(ndim == 2)
        return {{2, 2, 4, 16, 24, {1, 1}, {5, 4}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
                {2, 2, 2, 8, 16, {3, 3}, {6, 5}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
                {2, 16, 2, 1, 1, {3, 3}, {7, 7}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
                {2, 1, 3, 5, 3, {2, 3}, {6, 5}, {1, 2}, {2, 1}, {0, 1}, {1, 2}},
                {2, 2, 2, 16, 8, {3, 3}, {4, 8}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
    return {{3, 2, 4, 16, 24, {1, 1, 1}, {3, 5, 4}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
            {3, 2, 2, 8, 16, {3, 3, 3}, {4, 5, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {3, 16, 1, 1, 1, {3, 3, 3}, {4, 5, 4}, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {3, 1, 2, 5, 3, {2, 1, 3}, {4, 3, 5}, {1, 2, 1}, {1, 1, 2}, {0, 0, 2}, {1, 0, 2}},
            {3, 2, 2, 16, 8, {1, 3, 3}, {2, 4, 8}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}};
}

// The element with these indices.
std::size_t at(const std::vector<std::size_t>& strides, const std::vector<std::size_t>& indices) {
    std::size_t offset = 0;
    for(std::size_t i = 0; i < indices.size(); ++i)
        offset += strides[i] * indices[i];
    return offset;
}

// Calls `use` with each list of indices below `lengths`.
template <class Lengths, class Use>
void each(const Lengths& lengths, const Use& use) {
    std::vector<std::size_t> indices(lengths.size(), 0);
    for(;;) {
        use(indices);
        std::size_t d = lengths.size();
        while(d > 0 && ++indices[d - 1] == static_cast<std::size_t>(lengths[d - 1]))
            indices[--d] = 0;
        if(d == 0)
            return;
    }
}

// Small integers; those of int8 are so small that sums fit.
template <class T>
double value(std::size_t i, int seed) {
    constexpr std::size_t most = sizeof(T) == 1 ? 1 : 3;
    return static_cast<double>((i * 11 + seed) % (2 * most + 1)) - static_cast<double>(most);
}

template <class T>
struct Memory {
    std::vector<T> values;
    DeviceMem device;
    Memory(std::size_t size, int seed) : values(size), device(size * sizeof(T)) {
        for(std::size_t i = 0; i < size; ++i)
            values[i] = ck::type_convert<T>(static_cast<float>(value<T>(i, seed)));
        device.ToDevice(values.data());
    }
};

template <class Values>
std::vector<std::size_t> sizes(const Values& values) {
    return {values.begin(), values.end()};
}

template <class T>
std::vector<double> expected(const ConvParam& p) {
    const auto in = sizes(T::in(p).GetStrides()), wei = sizes(T::wei(p).GetStrides()),
               out = sizes(T::out(p).GetStrides());
    std::vector<double> sums(T::wei(p).GetElementSpaceSize());
    each(T::wei(p).GetLengths(), [&](const auto& w) {  // g, k, c, taps
        double& sum = sums[at(wei, w)];
        std::vector<std::size_t> lengths{static_cast<std::size_t>(p.N_)};
        lengths.insert(lengths.end(), p.output_spatial_lengths_.begin(), p.output_spatial_lengths_.end());
        each(lengths, [&](const auto& o) {  // n, positions
            std::vector<std::size_t> x{w[0], o[0], w[2]}, y{w[0], o[0], w[1]};
            for(index_t d = 0; d < T::ndim; ++d) {
                const auto i = static_cast<long>(o[1 + d]) * p.conv_filter_strides_[d] +
                               static_cast<long>(w[3 + d]) * p.conv_filter_dilations_[d] - p.input_left_pads_[d];
                if(i < 0 || i >= p.input_spatial_lengths_[d])
                    return;
                x.push_back(static_cast<std::size_t>(i));
                y.push_back(o[1 + d]);
            }
            sum += value<typename T::InType>(at(in, x), 1) * value<typename T::OutType>(at(out, y), 2);
        });
    });
    return sums;
}

template <std::size_t N, class Values>
std::array<index_t, N> array(const Values& values) {
    std::array<index_t, N> made{};
    std::copy(values.begin(), values.end(), made.begin());
    return made;
}

template <class T, class Op>
void run(Op& op, const ConvParam& p, index_t split_k, const std::vector<double>& sums) {
    constexpr std::size_t n = T::ndim, all = n + 3;
    const auto in = T::in(p), wei = T::wei(p), out = T::out(p);
    Memory<typename T::InType> x(in.GetElementSpaceSize(), 1);
    Memory<typename T::OutType> y(out.GetElementSpaceSize(), 2);
    Memory<typename T::WeiType> dw(wei.GetElementSpaceSize(), 3);
    const auto argument =
        op.MakeArgumentPointer(x.device.GetDeviceBuffer(), dw.device.GetDeviceBuffer(), y.device.GetDeviceBuffer(),
                               array<all>(in.GetLengths()), array<all>(in.GetStrides()), array<all>(wei.GetLengths()),
                               array<all>(wei.GetStrides()), array<all>(out.GetLengths()), array<all>(out.GetStrides()),
                               array<n>(p.conv_filter_strides_), array<n>(p.conv_filter_dilations_),
                               array<n>(p.input_left_pads_), array<n>(p.input_right_pads_), {}, {}, {}, split_k);
    DeviceMem workspace(op.GetWorkSpaceSize(argument.get()));
    op.SetWorkSpacePointer(argument.get(), workspace.GetDeviceBuffer());
    if(!op.IsSupportedArgument(argument.get()))
        return;
    op.MakeInvokerPointer()->Run(argument.get(), StreamConfig{});
    dw.device.FromDevice(dw.values.data());
    for(std::size_t i = 0; i < sums.size(); ++i) {
        const double got = static_cast<double>(ck::type_convert<float>(dw.values[i]));
        const double bound = sizeof(typename T::WeiType) == 4 ? 0. : 1. / 256;  // sums of integers are exact in f32
        ASSERT_LE(std::abs(got - sums[i]), bound * std::abs(sums[i])) << op.GetTypeString() << ", element " << i;
    }
    std::cout << "run of " << op.GetIdentity() << '\n';
}

int instances_of(int number) {
    const char* counts = std::getenv("CKGEN_INSTANCES");
    std::istringstream words(counts == nullptr ? "" : counts);
    int count = -1;
    for(int i = 0; i <= number; ++i)
        if(!(words >> count))
            return -1;
    return count;
}

template <class T>
struct BackwardWeight : ::testing::Test {};

// clang-format off: one tuple per line
using Tuples1d = ::testing::Types<
    Same<0, 1, float, GNWC, GKXC, GNWK>,
    Same<1, 1, half_t, GNWC, GKXC, GNWK>,
    Mixed<2, 1, GNWC, GKXC, GNWK>,
    Same<3, 1, float, NWGC, GKXC, NWGK>,
    Same<4, 1, half_t, NWGC, GKXC, NWGK>,
    Mixed<5, 1, NWGC, GKXC, NWGK>>;
using Tuples2d = ::testing::Types<
    Same<6, 2, float, GNHWC, GKYXC, GNHWK>,
    Same<7, 2, half_t, GNHWC, GKYXC, GNHWK>,
    Mixed<8, 2, GNHWC, GKYXC, GNHWK>,
    Same<9, 2, float, NHWGC, GKYXC, NHWGK>,
    Same<10, 2, half_t, NHWGC, GKYXC, NHWGK>,
    Same<11, 2, bhalf_t, NHWGC, GKYXC, NHWGK>,
    Mixed<12, 2, NHWGC, GKYXC, NHWGK>,
    Same<13, 2, float, NGCHW, GKYXC, NGKHW>,
    Same<14, 2, half_t, NGCHW, GKYXC, NGKHW>,
    Same<15, 2, bhalf_t, NGCHW, GKYXC, NGKHW>,
    Same<16, 2, float, NGCHW, GKCYX, NGKHW>,
    Same<17, 2, half_t, NGCHW, GKCYX, NGKHW>,
    Same<18, 2, bhalf_t, NGCHW, GKCYX, NGKHW>>;
using Tuples3d = ::testing::Types<
    Same<19, 3, float, GNDHWC, GKZYXC, GNDHWK>,
    Same<20, 3, half_t, GNDHWC, GKZYXC, GNDHWK>,
    Mixed<21, 3, GNDHWC, GKZYXC, GNDHWK>,
    Same<22, 3, int8_t, GNDHWC, GKZYXC, GNDHWK>,
    Same<23, 3, float, NDHWGC, GKZYXC, NDHWGK>,
    Same<24, 3, half_t, NDHWGC, GKZYXC, NDHWGK>,
    Same<25, 3, bhalf_t, NDHWGC, GKZYXC, NDHWGK>,
    Mixed<26, 3, NDHWGC, GKZYXC, NDHWGK>,
    Same<27, 3, int8_t, NDHWGC, GKZYXC, NDHWGK>,
    Same<28, 3, float, NGCDHW, GKZYXC, NGKDHW>,
    Same<29, 3, half_t, NGCDHW, GKZYXC, NGKDHW>,
    Same<30, 3, bhalf_t, NGCDHW, GKZYXC, NGKDHW>,
    Same<31, 3, float, NGCDHW, GKCZYX, NGKDHW>,
    Same<32, 3, half_t, NGCDHW, GKCZYX, NGKDHW>,
    Same<33, 3, bhalf_t, NGCDHW, GKCZYX, NGKDHW>>;
// clang-format on

TYPED_TEST_SUITE_P(BackwardWeight);
TYPED_TEST_P(BackwardWeight, EveryInstanceIsRight) {
    const auto ops =
        ck::tensor_operation::device::instance::DeviceOperationInstanceFactory<typename TypeParam::Op>::GetInstances();
    ASSERT_EQ(static_cast<int>(ops.size()), instances_of(TypeParam::number)) << "tuple " << TypeParam::number;
    for(const ConvParam& p : problems(TypeParam::ndim)) {
        const std::vector<double> sums = expected<TypeParam>(p);
        for(const auto& op : ops)
            for(const index_t split_k : {1, 2})
                run<TypeParam>(*op, p, split_k, sums);
    }
}
REGISTER_TYPED_TEST_SUITE_P(BackwardWeight, EveryInstanceIsRight);
INSTANTIATE_TYPED_TEST_SUITE_P(In1D, BackwardWeight, Tuples1d);
INSTANTIATE_TYPED_TEST_SUITE_P(In2D, BackwardWeight, Tuples2d);
INSTANTIATE_TYPED_TEST_SUITE_P(In3D, BackwardWeight, Tuples3d);

}  // namespace
