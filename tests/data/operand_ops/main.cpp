// Runs backward weight with scaled operands through the factories, and prints how many instances operator types have.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ckgen/instance/grouped_convolution_backward_weight.hpp"

using namespace ckgen;
using namespace ckgen::tensor_operation;
using element_wise::Bilinear, element_wise::Clip, element_wise::ConvScale, element_wise::PassThrough;
using element_wise::Scale, element_wise::UnaryConvert;

namespace {

using Layout = layout::NDHWGC_GKZYXC_NDHWGK;
template <class In, class Wei, class Out>
using Plain =
    device::DeviceGroupedConvBwdWeight<3, Layout::In, Layout::Wei, Layout::Out, half_t, half_t, half_t, In, Wei, Out>;
template <class In, class Wei, class Out, class Ds = Tuple<>, class Types = Tuple<>>
using Fused = device::DeviceGroupedConvBwdWeightMultipleD<3, Layout::In, Layout::Wei, Layout::Out, Ds, half_t, half_t,
                                                          half_t, Types, In, Wei, Out>;
using Residual = Tuple<Layout::Wei>;
using Half = Tuple<half_t>;

template <class Op>
auto instances() {
    return device::instance::DeviceOperationInstanceFactory<Op>::GetInstances();
}

constexpr long images = 2, channels = 3, outputs = 5, positions = 27;

// The largest difference of a run from factor * sum + beta * D.
template <class Op>
double worst(Op& op, const typename device::BaseArgument& made, std::vector<half_t>& wei, const std::vector<half_t>& in,
             const std::vector<half_t>& out, double factor, double beta) {
    auto* argument = const_cast<device::BaseArgument*>(&made);
    std::vector<char> workspace(op.GetWorkSpaceSize(argument) + 16);
    const auto address = reinterpret_cast<std::uintptr_t>(workspace.data());
    op.SetWorkSpacePointer(argument, reinterpret_cast<void*>((address + 15) / 16 * 16));
    if(!op.IsSupportedArgument(argument))
        return INFINITY;
    const std::vector<half_t> d = wei;
    op.MakeInvokerPointer()->Run(argument, StreamConfig{});
    double found = 0;
    for(long k = 0; k < outputs; ++k)
        for(long c = 0; c < channels; ++c) {
            double sum = 0;
            for(long i = 0; i < images * positions; ++i)
                sum += static_cast<double>(in[i * channels + c]) * static_cast<double>(out[i * outputs + k]);
            const double expected = factor * sum + beta * static_cast<double>(d[k * channels + c]);
            found = std::max(found, std::abs(expected - static_cast<double>(wei[k * channels + c])));
        }
    return found;
}

}  // namespace

int main() {
    using Op = Plain<Scale, PassThrough, Scale>;
    using Both = Fused<Scale, Bilinear, UnaryConvert, Residual, Half>;
    std::printf("%zu %zu %zu %zu %zu\n", instances<Op>().size(),
                instances<Plain<PassThrough, Scale, PassThrough>>().size(), instances<Both>().size(),
                instances<Plain<Clip, PassThrough, PassThrough>>().size(),
                instances<Fused<Scale, ConvScale, Scale>>().size());
    std::vector<half_t> in(images * channels * positions), out(images * outputs * positions), wei(outputs * channels);
    for(std::size_t i = 0; i < in.size(); ++i)
        in[i] = static_cast<half_t>(static_cast<float>(i % 7) - 3);
    for(std::size_t i = 0; i < out.size(); ++i)
        out[i] = static_cast<half_t>(static_cast<float>(i % 5) - 2);
    for(std::size_t i = 0; i < wei.size(); ++i)
        wei[i] = static_cast<half_t>(static_cast<float>(i % 4) - 1);
    const Op::Lengths in_l{1, images, channels, 3, 3, 3}, wei_l{1, outputs, channels, 1, 1, 1},
        out_l{1, images, outputs, 3, 3, 3};
    const auto strides = [](index_t n) { return Op::Lengths{n, 27 * n, 1, 9 * n, 3 * n, n}; };
    const Op::Lengths wei_s{outputs * channels, channels, 1, channels, channels, channels};
    const Op::Spatial one{1, 1, 1}, none{0, 0, 0};
    for(const auto& op : instances<Op>()) {
        const auto argument =
            op->MakeArgumentPointer(in.data(), wei.data(), out.data(), in_l, strides(channels), wei_l, wei_s, out_l,
                                    strides(outputs), one, one, none, none, Scale{2.f}, PassThrough{}, Scale{1.5f}, 2);
        std::printf("scaled %g\n", worst(*op, *argument, wei, in, out, 3., 0.));
    }
    for(const auto& op : instances<Both>()) {  // the weight is the D tensor itself
        const auto argument =
            op->MakeArgumentPointer(in.data(), wei.data(), out.data(), {wei.data()}, in_l, strides(channels), wei_l,
                                    wei_s, out_l, strides(outputs), {wei_l}, {wei_s}, one, one, none, none, Scale{2.f},
                                    Bilinear{0.5f, 0.25f}, UnaryConvert{}, 1);
        std::printf("bilinear %g\n", worst(*op, *argument, wei, in, out, 1., 0.25));
    }
}
