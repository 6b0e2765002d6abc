// The CPU reference of backward data, compiled once per data type.
#include "ckgen/op/reference_conv_bwd_data.hpp"

#include "ckgen/op/impl/reference_loops.hpp"

namespace ckgen::reference {
namespace {

// The output position from which tap `tap` reaches input position `at`, in three dimensions; false if there is none.
bool output_of(const conv::Problem& p, const std::array<int64, 3>& at, const std::array<int64, 3>& tap, Index& index) {
    for(int d = 0; d < 3; ++d) {
        const int64 ahead = at[d] + p.left_pads[d] - tap[d] * p.dilations[d];
        index[3 + d] = ahead / p.strides[d];
        if(ahead < 0 || ahead % p.strides[d] != 0 || index[3 + d] >= p.out.lengths[3 + d])
            return false;
    }
    return true;
}

}  // namespace

template <class DataType>
void ReferenceConvBwdData<DataType>::Run(const conv::Problem& problem, In* in, const Wei* wei, const Out* out,
                                         F8Codes codes) {
    const conv::Problem p = padded(problem);
    refuse_overlap({placed("input", in, p.in, p.ndim), placed("weight", wei, p.wei, p.ndim),
                    placed("output", out, p.out, p.ndim)});
    deal_out(p.groups() * p.images(), [&] {
        std::vector<double> sums(static_cast<size_t>(p.in_channels()));
        return [&, sums](int64 row) mutable {
            const int64 g = row / p.images();
            const int64 n = row % p.images();
            for_positions(p.in, [&](const std::array<int64, 3>& at) {
                std::fill(sums.begin(), sums.end(), 0.);
                for_positions(p.wei, [&](const std::array<int64, 3>& tap) {
                    Index seen{g, n, 0};
                    if(!output_of(p, at, tap, seen))
                        return;
                    for(seen[2] = 0; seen[2] < p.out_channels(); ++seen[2]) {
                        const double gradient =
                            rounded<typename DataType::ComputeA>(codes, out[offset_of(p.out, seen)]);
                        const Wei* weights = wei + offset_of(p.wei, {g, seen[2], 0, tap[0], tap[1], tap[2]});
                        for(std::size_t c = 0; c < sums.size(); ++c)
                            sums[c] += gradient * rounded<typename DataType::ComputeB>(
                                                      codes, weights[static_cast<int64>(c) * p.wei.strides[2]]);
                    }
                });
                In* target = in + offset_of(p.in, {g, n, 0, at[0], at[1], at[2]});
                for(std::size_t c = 0; c < sums.size(); ++c)
                    target[static_cast<int64>(c) * p.in.strides[2]] = Convert<In>::from(static_cast<float>(sums[c]));
            });
        };
    });
}

#define CKGEN_REFERENCE(DATA_TYPE) template struct ReferenceConvBwdData<dtype::DATA_TYPE>;
CKGEN_DATA_TYPES_OF_BwdData(CKGEN_REFERENCE)
#undef CKGEN_REFERENCE

}  // namespace ckgen::reference
