// Copied by ckgen from templates/src/plan/bwd_data_depthwise.cpp. Do not edit; run: ckgen generate
// Planning of family depthwise of backward data.
#include <algorithm>

#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/depthwise_checks.hpp"

namespace ckgen::conv {
namespace {

using namespace depthwise;

// A sweep has sums for a number of taps.
std::string check_filter(const BwdDataArgs& a, const BwdDataTraits& t) {
    const int last = t.ndim - 1;
    int64 taps = a.k;
    for(int d = 0; d < t.ndim; ++d) {
        const int most = ceil_div(a.filter[d], a.tilde[d]);
        const int limit = d == last ? t.depthwise.row_taps : d == last - 1 ? t.depthwise.rows : most;
        if(most > limit)
            return refuse("depthwise-filter", number(most) + " taps of dimension " + number(d) +
                                                  " reach one position; the instance has sums for " + number(limit));
        taps *= d == last ? t.depthwise.row_taps : most;
    }
    if(taps * t.depthwise.channels * 4 > t.lds_bytes)
        return refuse("depthwise-filter", "the weights do not fit LDS");
    return {};
}

std::string check_d(const BwdDataTraits& t, const Problem& p, const Fusion& fusion) {
    for(std::size_t i = 0; i < t.d.size(); ++i) {
        const DTensor& d = fusion.d[i];
        if(p.groups() > 1 && d.shape.lengths[0] == 1)
            return refuse("depthwise-groups", "D" + std::to_string(i) + " has one group for all");
        const std::string reason = check_tensor(("D" + std::to_string(i)).c_str(), d.shape, d.data, t.d[i].bytes,
                                                t.d[i].one_a_channel ? 0 : t.ndim, t.depthwise.vector);
        if(!reason.empty())
            return reason;
    }
    return {};
}

// Positions and strips of a problem. A residue is one of the positions modulo the strides, which have taps in common.
struct Division {
    int64 residues = 1;
    int64 outer = 1;  // strips of an image, and residue, along all dimensions but the innermost
    int64 inner = 1;  // along that one
};

// Sets the rows of a sweep too.
Division divide(const BwdDataArgs& a, const BwdDataTraits& t, DepthwiseStripWork& work) {
    const DepthwiseLimits& limits = t.depthwise;
    const int last = t.ndim - 1;
    Division made;
    for(int d = 0; d < t.ndim; ++d) {
        made.residues *= std::min(a.stride[d], a.in_length[d]);
        const int positions = ceil_div(a.in_length[d], a.stride[d]);
        if(limits.rows > 1 && d == last - 1) {
            work.rows = rows_of_sweep(ceil_div(positions, a.shift[d]), limits.rows);
            made.outer *= strips_of(positions, a.shift[d], work.rows);
        } else if(d < last) {
            made.outer *= positions;
        }
    }
    made.inner = strips_of(ceil_div(a.in_length[last], a.stride[last]), a.shift[last], limits.positions);
    return made;
}

// Divides the strips among workgroups and threads.
std::string set_grid(BwdDataPlan& plan, const BwdDataTraits& t, const Division& division, int compute_units) {
    BwdDataArgs& a = plan.args;
    DepthwiseStripWork& work = plan.strips;
    const int64 strips = a.images * division.outer * division.inner;
    work.channel_blocks = ceil_div(a.groups, t.depthwise.channels);
    const int64 rounds = divide_up(strips, t.depthwise.position_threads);
    const int64 wanted = divide_up(int64{kWorkgroupsPerUnit} * compute_units, division.residues * work.channel_blocks);
    work.rounds = static_cast<int32>(std::clamp<int64>(rounds / wanted, 1, 256));
    work.shares = static_cast<int32>(divide_up(rounds, work.rounds));
    int64 blocks = division.residues;
    if(blocks > kMostRows || !multiply(blocks, work.channel_blocks) || !multiply(blocks, work.shares) ||
       blocks > kMostThreads / t.launch_threads - 1)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(blocks);
    return {};
}

}  // namespace

std::string plan_depthwise(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, const Fusion& fusion,
                           const Addresses& at, int compute_units) {
    std::string reason = check_groups(t, p, at, t.written_bytes);
    if(reason.empty() && t.depthwise.vector > 1)
        reason = check_d(t, p, fusion);
    if(reason.empty() && t.depthwise.rows > 1)
        reason = check_filter(plan.args, t);
    if(!reason.empty())
        return reason;
    const Division division = divide(plan.args, t, plan.strips);
    reason = check_strips(plan.args.images, division.outer, division.inner, t.depthwise.position_threads,
                          image_bytes(p.out, t.ndim, t.elem_bytes));
    return reason.empty() ? set_grid(plan, t, division, compute_units) : reason;
}

}  // namespace ckgen::conv
