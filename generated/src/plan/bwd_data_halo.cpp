// Copied by ckgen from templates/src/plan/bwd_data_halo.cpp. Do not edit; run: ckgen generate
// Planning of backward data: family halo, whose rows stream through rings.
#include <algorithm>
#include <climits>

#include "ckgen/conv/halo_taps.hpp"
#include "ckgen/plan/bwd_data_checks.hpp"

namespace ckgen::conv {
namespace {

// Takes filters of 3x3; strides of 1, or of 2 with taps of both residues; groups, after merging, with exactly the
// tile's channels. `merged`: set if the instance merges groups.
std::string check_halo(const BwdDataTraits& t, const Problem& p, const MergedInputGroups& merged) {
    for(int d = 0; d < p.ndim; ++d) {
        if(p.wei.lengths[3 + d] != kHaloTaps)
            return refuse("halo-filter",
                          "the filter has " + number(p.wei.lengths[3 + d]) + " taps in a dimension, not 3");
        if(p.strides[d] > 2 || p.strides[d] != p.strides[0])
            return refuse("halo-stride", "the strides are " + number(p.strides[0]) + " and " + number(p.strides[d]) +
                                             ", not both 1 or both 2");
        if(p.strides[d] == 2 && p.dilations[d] % 2 == 0)
            return refuse("halo-dilation", "dilation " + number(p.dilations[d]) +
                                               " with stride 2 leaves positions without a tap; only odd ones do not");
        if(p.left_pads[d] > SHRT_MAX || p.dilations[d] > SHRT_MAX || p.in.lengths[3 + d] > SHRT_MAX)
            return refuse("halo-rows", "a length, pad or dilation of dimension " + number(d) + " is more than 32767");
    }
    if(p.in_channels() != t.n_per_block || p.out_channels() != t.n_per_block ||
       (p.groups() > 1 && p.out.strides[0] != t.n_per_block))
        return refuse("halo-groups", "groups have " + number(p.in_channels()) + " input and " +
                                         number(p.out_channels()) + " output channels, " + number(p.out.strides[0]) +
                                         " apart; the instance needs " + number(t.n_per_block) +
                                         " of both, side by side");
    if(t.groups_to_merge > 1 && merged.c * t.groups_to_merge != t.n_per_block)
        return refuse("halo-groups", "groups have " + number(merged.c) + " channels; the instance merges " +
                                         number(t.groups_to_merge) + " groups of " +
                                         number(t.n_per_block / t.groups_to_merge) + " that are side by side");
    if(t.groups_to_merge > 1 && merged.last_c != t.n_per_block)
        return refuse("halo-groups", "the number of groups is not a multiple of the " + number(t.groups_to_merge) +
                                         " that are merged");
    return {};
}

// Refuses strides that TMA cannot address.
std::string check_strides(const BwdDataTraits& t, const Problem& p, const BwdDataArgs& a) {
    std::string reason = check_strides_multiple("a-vector", "an output stride", p.out, p.ndim, t.a_vector);
    if(reason.empty())
        reason = check_strides_multiple("b-vector", "a weight stride", p.wei, p.ndim, t.b_vector);
    if(reason.empty() && a.out_image_bytes >= int64{1} << 40)
        reason = refuse("tma-limits", "images of the output are 2^40 or more bytes apart");
    if(reason.empty() && p.groups() * t.n_per_block > kMostRows)
        reason = refuse("tma-limits", "groups * channels do not fit 31 bits");
    return reason;
}

}  // namespace

std::string plan_halo(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, const Fusion&, const Addresses&,
                      int compute_units) {
    BwdDataArgs& a = plan.args;
    std::string reason = check_halo(t, p, a.merged);
    if(reason.empty())
        reason = check_strides(t, p, a);
    if(!reason.empty())
        return reason;
    const HaloGeometry ring = halo_cells(a, t.halo).ring;
    if(ring.lds_bytes == 0)
        return refuse("halo-rows",
                      "rows of " + number(a.in_length[1]) + " input positions are too long for shared memory");
    const int64 steps = int64{a.images} * ring.steps_per_image;
    if(steps > kMostRows)
        return refuse("halo-rows", "images * rows do not fit 31 bits");
    const int64 windows = halo_windows(a, t.elem_bytes);
    const int64 shares = std::max<int64>(1, std::min(compute_units / windows, steps));
    if(windows * shares > kMostRows / t.launch_threads)
        return refuse("grid-size", "the grid would hold more than 2^31 threads");
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(windows * shares);
    return {};
}

}  // namespace ckgen::conv
