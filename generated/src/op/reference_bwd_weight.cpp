// Copied by ckgen from templates/src/op/reference_bwd_weight.cpp. Do not edit; run: ckgen generate
// The CPU reference of backward weight, compiled once per data type.
#include "ckgen/op/reference_conv_bwd_weight.hpp"

#include "ckgen/op/impl/reference_loops.hpp"

namespace ckgen::reference {
namespace {

// All taps and channels of one output channel of one group, in `sums`[tap][c].
template <class DataType, class In, class Out>
void accumulate(const conv::Problem& p, int64 g, int64 k, const In* in, const Out* out, F8Codes codes,
                std::vector<double>& sums) {
    const int64 channels = p.in_channels();
    const int64 channel_stride = p.in.strides[2];
    std::fill(sums.begin(), sums.end(), 0.);
    for(int64 n = 0; n < p.images(); ++n)
        for_positions(p.out, [&](const std::array<int64, 3>& o) {
            const double gradient =
                rounded<typename DataType::ComputeA>(codes, out[offset_of(p.out, {g, n, k, o[0], o[1], o[2]})]);
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
                    sum[c] += gradient * rounded<typename DataType::ComputeB>(codes, row[c * channel_stride]);
            });
        });
}

}  // namespace

template <class DataType>
void ReferenceConvBwdWeight<DataType>::Run(const conv::Problem& problem, const In* in, Wei* wei, const Out* out,
                                           F8Codes codes) {
    const conv::Problem p = padded(problem);
    refuse_overlap({placed("weight", wei, p.wei, p.ndim), placed("input", in, p.in, p.ndim),
                    placed("output", out, p.out, p.ndim)});
    deal_out(p.groups() * p.out_channels(), [&] {
        std::vector<double> sums(static_cast<size_t>(p.taps() * p.in_channels()));
        return [&, sums](int64 row) mutable {
            const int64 g = row / p.out_channels();
            const int64 k = row % p.out_channels();
            accumulate<DataType>(p, g, k, in, out, codes, sums);
            const double* sum = sums.data();
            for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                for(int64 c = 0; c < p.in_channels(); ++c)
                    wei[offset_of(p.wei, {g, k, c, tap[0], tap[1], tap[2]})] =
                        Convert<Wei>::from(static_cast<float>(*sum++));
            });
        };
    });
}

#define CKGEN_REFERENCE(DATA_TYPE) template struct ReferenceConvBwdWeight<dtype::DATA_TYPE>;
CKGEN_DATA_TYPES_OF_BwdWeight(CKGEN_REFERENCE)
#undef CKGEN_REFERENCE

}  // namespace ckgen::reference
