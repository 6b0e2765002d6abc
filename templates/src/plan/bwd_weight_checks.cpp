// Checks of backward weight about vectors and exchanged operands, and the problem that exchanged operands compute.
#include <algorithm>
#include <utility>

#include "ckgen/plan/bwd_weight_plan.hpp"

namespace ckgen::conv {

// The vectors of A and B may reach over merged groups if they are channels, those of C may not.
std::string check_group_vectors(const BwdWeightTraits& t, const Problem& p, const Problem& merged,
                                const Addresses& at) {
    if(!channels_last(t.order.in, p.ndim))
        return check_vectors(t, p, at);
    std::string reason = check_vectors(t, merged, at);
    if(reason.empty())
        reason = check_multiple("c-vector", "C", p.in_channels(), t.c_vector);
    if(reason.empty())
        reason = check_multiple("a-vector", "K of all groups", p.groups() * p.out_channels(), t.a_vector);
    if(reason.empty())
        reason = check_multiple("b-vector", "C of all groups", p.groups() * p.in_channels(), t.b_vector);
    return reason;
}

// Vectors of positions that taps shift: rows of the image follow one another in the input as they do in the output, and
// the kernel keeps the padding of a row as 32 bits.
std::string check_shifted_vectors(const BwdWeightTraits& t, const Problem& p) {
    if(t.conv_spec != ConvSpec::Default || t.b_vector == 1 || channels_last(t.order.in, p.ndim))
        return {};
    for(int d = 0; d < p.ndim; ++d)
        if(p.strides[d] != 1 || p.out.lengths[3 + d] != p.in.lengths[3 + d])
            return refuse("b-vector", "stride " + number(p.strides[d]) + ", input length " +
                                          number(p.in.lengths[3 + d]) + " and output length " +
                                          number(p.out.lengths[3 + d]) + " of dimension " + number(d) +
                                          ": vectors of positions need stride 1 and equal lengths");
    const int last = p.ndim - 1;
    const int64 ahead = (p.wei.lengths[3 + last] - 1) * p.dilations[last] - p.left_pads[last];
    constexpr int64 bits = 32;
    if(p.out.lengths[3 + last] >= bits && std::max(p.left_pads[last], ahead) >= bits)
        return refuse("b-vector", "taps reach " + number(std::max(p.left_pads[last], ahead)) +
                                      " positions over the end of a row, vectors of positions at most 31");
    constexpr int64 slot = 16;  // most rows of a thread
    if(p.ndim == 3 && p.out.lengths[4] * p.out.lengths[5] < slot)
        return refuse("b-vector", "a plane of " + number(p.out.lengths[4] * p.out.lengths[5]) +
                                      " positions is smaller than the " + number(slot) + " positions of a thread");
    return {};
}

Problem exchanged(const BwdWeightTraits& t, const Problem& problem) {
    if(!t.exchange)
        return problem;
    Problem p = problem;
    std::swap(p.in, p.out);
    std::swap(p.wei.lengths[1], p.wei.lengths[kChannels]);
    for(int d = 0; d < p.ndim; ++d) {
        const int64 reach = (p.wei.lengths[3 + d] - 1) * p.dilations[d];
        p.left_pads[d] = reach - problem.left_pads[d];
        p.right_pads[d] = reach - problem.right_pads[d];
    }
    return p;
}

std::string check_exchange(const BwdWeightTraits& t, const Problem& p) {
    for(int d = 0; t.exchange && d < p.ndim; ++d) {
        if(p.strides[d] != 1)
            return refuse("exchange", "stride " + number(p.strides[d]) + " of dimension " + number(d) +
                                          " is not 1, without which input and output cannot be exchanged");
        const int64 reach = (p.wei.lengths[3 + d] - 1) * p.dilations[d];
        if(std::max(p.left_pads[d], p.right_pads[d]) > reach)
            return refuse("exchange", "pads " + number(p.left_pads[d]) + ", " + number(p.right_pads[d]) +
                                          " of dimension " + number(d) + " are more than the " + number(reach) +
                                          " positions from the first tap to the last");
    }
    return {};
}

}  // namespace ckgen::conv
