// Copied by ckgen from templates/src/reference.cpp. Do not edit; run: ckgen generate
// The CPU reference, compiled once a data type.
#include "ckgen/device/reference_conv_bwd_weight.hpp"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ckgen::tensor_operation::host {
namespace {

using Index = std::array<int64, 6>;

int64 offset_of(const conv::Tensor& tensor, const Index& index) {
    int64 offset = 0;
    for(int d = 0; d < 6; ++d)
        offset += index[d] * tensor.strides[d];
    return offset;
}

// Calls visit(position) for every spatial position of `tensor`, row-major.
template <class Visit>
void for_positions(const conv::Tensor& tensor, const Visit& visit) {
    std::array<int64, 3> position{};
    for(position[0] = 0; position[0] < tensor.lengths[3]; ++position[0])
        for(position[1] = 0; position[1] < tensor.lengths[4]; ++position[1])
            for(position[2] = 0; position[2] < tensor.lengths[5]; ++position[2])
                visit(position);
}

// Dimensions past ndim become length 1, stride 0, so that all loops are three deep.
conv::Problem padded(conv::Problem p) {
    for(int d = p.ndim; d < 3; ++d) {
        for(conv::Tensor* tensor : {&p.in, &p.wei, &p.out}) {
            tensor->lengths[3 + d] = 1;
            tensor->strides[3 + d] = 0;
        }
        p.strides[d] = p.dilations[d] = 1;
        p.left_pads[d] = p.right_pads[d] = 0;
    }
    return p;
}

// All taps and channels of one output channel of one group, in `sums`[tap][c].
template <class In, class Out>
void accumulate(const conv::Problem& p, int64 g, int64 k, const In* in, const Out* out, std::vector<double>& sums) {
    const int64 channels = p.in_channels();
    const int64 channel_stride = p.in.strides[2];
    std::fill(sums.begin(), sums.end(), 0.);
    for(int64 n = 0; n < p.images(); ++n)
        for_positions(p.out, [&](const std::array<int64, 3>& o) {
            const double gradient = to_float(out[offset_of(p.out, {g, n, k, o[0], o[1], o[2]})]);
            int64 tap_index = 0;
            for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                double* sum = sums.data() + channels * tap_index++;
                Index at{g, n, 0};
                for(int d = 0; d < 3; ++d) {
                    at[3 + d] = o[d] * p.strides[d] + tap[d] * p.dilations[d] - p.left_pads[d];
                    if(at[3 + d] < 0 || at[3 + d] >= p.in.lengths[3 + d])
                        return;
                }
                const In* row = in + offset_of(p.in, at);
                for(int64 c = 0; c < channels; ++c)
                    sum[c] += gradient * static_cast<double>(to_float(row[c * channel_stride]));
            });
        });
}

}  // namespace

template <class DataType>
void ReferenceConvBwdWeight<DataType>::Run(const conv::Problem& problem, const In* in, Wei* wei, const Out* out) {
    if(problem.ndim < 1 || problem.ndim > 3 || problem.in.lengths[2] != problem.wei.lengths[2] ||
       problem.out.lengths[2] != problem.wei.lengths[1] || problem.in.lengths[1] != problem.out.lengths[1])
        throw std::invalid_argument("[shapes] input, weight and output lengths disagree");
    const conv::Problem p = padded(problem);
    const int64 rows = p.groups() * p.out_channels();
    std::atomic<int64> next{0};
    const auto work = [&] {
        std::vector<double> sums(static_cast<size_t>(p.taps() * p.in_channels()));
        for(int64 row = next++; row < rows; row = next++) {
            const int64 g = row / p.out_channels();
            const int64 k = row % p.out_channels();
            accumulate(p, g, k, in, out, sums);
            const double* sum = sums.data();
            for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                for(int64 c = 0; c < p.in_channels(); ++c)
                    wei[offset_of(p.wei, {g, k, c, tap[0], tap[1], tap[2]})] =
                        Convert<Wei>::from(static_cast<float>(*sum++));
            });
        }
    };
    std::vector<std::thread> helpers;
    for(unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
        helpers.emplace_back(work);
    work();
    for(std::thread& helper : helpers)
        helper.join();
}

template struct ReferenceConvBwdWeight<dtype::f16>;
template struct ReferenceConvBwdWeight<dtype::bf16>;
template struct ReferenceConvBwdWeight<dtype::f32>;
template struct ReferenceConvBwdWeight<dtype::bf16_f32_bf16>;

}  // namespace ckgen::tensor_operation::host
