// Planning of backward data: merged groups.
#include "ckgen/plan/bwd_data_checks.hpp"

#include <algorithm>

namespace ckgen::conv {
namespace {

constexpr int64 kMostChannels = 1 << 20;  // per group: those of merged groups fit 31 bits

// Elements from one channel to the next; single channels of groups follow each other.
int64 channel_step(const Tensor& x) { return x.strides[x.lengths[kChannels] > 1 ? kChannels : 0]; }
int64 channel_step(const Tensor& x, const Axes& axes, int ndim) {
    return channels_last(axes, ndim) ? 1 : channel_step(x);
}

// True if the channels of the next group follow those of a group.
bool beside(const Tensor& x, int64 groups, int64 step) {
    return x.lengths[0] == groups && x.strides[0] == x.lengths[kChannels] * step;
}

int64 merged_groups(const BwdDataTraits& t, const Problem& p, const Fusion& fusion) {
    if(t.groups_to_merge == 1 || p.groups() == 1 || std::max(p.in_channels(), p.out_channels()) > kMostChannels)
        return 1;
    bool all = beside(p.in, p.groups(), channel_step(p.in, t.order.in, p.ndim)) &&
               beside(p.out, p.groups(), channel_step(p.out, t.order.out, p.ndim)) &&
               (p.out_channels() == 1 || p.wei.strides[0] == p.out_channels() * p.wei.strides[1]);
    for(const DTensor& d : fusion.d)
        all =
            all && d.shape.lengths[kChannels] == p.in_channels() && beside(d.shape, p.groups(), channel_step(d.shape));
    return all ? std::min<int64>(t.groups_to_merge, p.groups()) : 1;
}

void merge(Tensor& x, int64 groups) {
    x.strides[kChannels] = x.strides[0] / x.lengths[kChannels];
    x.lengths[0] = divide_up(x.lengths[0], groups);
    x.lengths[kChannels] *= groups;
    x.strides[0] *= groups;
}

}  // namespace

BwdDataProblem with_merged_groups(const BwdDataTraits& t, const Problem& p, const Fusion& fusion) {
    const int64 groups = merged_groups(t, p, fusion);
    BwdDataProblem result{p, fusion};
    if(groups == 1)
        return result;
    merge(result.problem.in, groups);
    merge(result.problem.out, groups);
    for(DTensor& d : result.fusion.d)
        merge(d.shape, groups);
    Tensor& wei = result.problem.wei;  // its own channels C stay apart: taps may lie between them
    wei.strides[1] = wei.strides[0] / wei.lengths[1];
    wei.lengths[0] = divide_up(wei.lengths[0], groups);
    wei.lengths[1] *= groups;
    wei.lengths[kChannels] *= groups;
    wei.strides[0] *= groups;
    return result;
}

MergedInputGroups merged_input_groups(const Problem& p, const Problem& merged) {
    const int64 groups = merged.in_channels() / p.in_channels();
    const int64 last = p.groups() - (merged.groups() - 1) * groups;
    const auto k = static_cast<int32>(p.out_channels()), c = static_cast<int32>(p.in_channels());
    return {k, c, static_cast<int32>(k * last), static_cast<int32>(c * last), Divider::by(c)};
}

std::string check_group_vectors(const BwdDataTraits& t, const Problem& p, const Problem& merged, const Addresses& at) {
    Problem x = merged;
    if(!channels_last(t.order.in, p.ndim))  // positions are contiguous
        x.in = p.in;
    if(!channels_last(t.order.out, p.ndim))
        x.out = p.out;
    std::string reason = check_vectors(t, x, at);
    if(reason.empty())
        reason = channels_last(t.order.wei, p.ndim) || t.copies_weight
                     ? check_multiple("b-vector", "C", p.in_channels(), t.b_vector)
                     : check_multiple("b-vector", "C * taps", p.in_channels() * p.taps(), t.b_vector);
    if(reason.empty() && channels_last(t.order.out, p.ndim))
        reason = check_multiple("a-vector", "K of all groups", p.groups() * p.out_channels(), t.a_vector);
    if(reason.empty() && channels_last(t.order.in, p.ndim))
        reason = check_multiple("c-vector", "C of all groups", p.groups() * p.in_channels(), t.c_vector);
    return reason;
}

std::string check_row_vectors(const BwdDataTraits& t, const Problem& p) {
    if(t.row_vector == 1)
        return {};
    const int last = 2 + p.ndim;
    if(p.out.lengths[last] > 1 && p.out.strides[last] != 1)
        return refuse("a-vector", "output positions of a row are " + number(p.out.strides[last]) +
                                      " elements apart, vectors need 1");
    constexpr int64 most = int64{1} << 29;  // bytes of a plane and offsets in it fit 31 bits
    int64 plane = 1;
    for(int d = 0; d < p.ndim; ++d) {
        const int64 length = p.out.lengths[3 + d], stride = length > 1 ? p.out.strides[3 + d] : 0;
        plane = length > most || stride > most ? most + 1 : std::min(most + 1, plane + (length - 1) * stride);
    }
    if(plane < t.row_vector)
        return refuse("a-vector", "a plane of " + number(plane) + " output positions is smaller than a vector of " +
                                      number(t.row_vector));
    if(plane * t.elem_bytes > most)
        return refuse("a-vector", "vectors need planes of the output of at most 2^29 bytes");
    return {};
}

}  // namespace ckgen::conv
