// Planning of family depthwise of backward weight.
#include <algorithm>
#include <numeric>

#include "ckgen/plan/bwd_weight_plan.hpp"
#include "ckgen/plan/depthwise_checks.hpp"

namespace ckgen::conv {
namespace {

using namespace depthwise;

constexpr int kMostUnitGroups = 16;  // of a workgroup; the others share positions
// Workgroups per compute unit that hide the latency of each other's loads. With more of them, more sums are added.
constexpr int kLeastWorkgroupsPerUnit = 2;

// The division of the work, all of it in one split.
DepthwiseWork depthwise_work(const BwdWeightArgs& a, int ndim, const DepthwiseLimits& limits, int compute_units) {
    DepthwiseWork work{};
    const int last = ndim - 1;
    work.units = a.m * ceil_div(a.filter[last], limits.row_taps);
    int64 strips = a.k;
    for(int d = 0; d < last; ++d)
        work.units *= ceil_div(a.filter[d], d == last - 1 ? limits.rows : 1);
    const int most = std::min(kMostUnitGroups, limits.position_threads);
    work.unit_groups = ceil_div(work.units, ceil_div(work.units, most));
    const int threads = limits.position_threads / work.unit_groups;  // of strips
    const int common = std::gcd(a.stride[last], a.dilation[last]);
    work.stride = a.stride[last] / common;
    work.dilation = a.dilation[last] / common;
    strips = strips / a.out_length[last] * strips_of(a.out_length[last], work.dilation, limits.positions);
    work.rows = 1;
    work.row_stride = 1;
    if(limits.rows > 1) {
        const int height = last - 1, common_rows = std::gcd(a.stride[height], a.dilation[height]);
        work.row_stride = a.stride[height] / common_rows;
        work.row_dilation = a.dilation[height] / common_rows;
        const int length = ceil_div(a.out_length[height], work.row_dilation);
        const double sweeps = static_cast<double>(strips) / a.out_length[height] * work.row_dilation;
        const double tiles = int64{ceil_div(a.groups, limits.channels)} * ceil_div(work.units, work.unit_groups);
        const double least = static_cast<double>(kLeastWorkgroupsPerUnit) * compute_units;
        work.rows = rows_of_sweep(length, limits.rows, sweeps / threads * tiles / least);
        strips = strips / a.out_length[height] * strips_of(a.out_length[height], work.row_dilation, work.rows);
    }
    work.rounds = static_cast<int32>(divide_up(strips, threads));
    return work;
}

// Refuses problems whose weights or positions have no 31-bit numbers.
std::string check_size(const BwdWeightTraits& t, const Problem& p, const BwdWeightArgs& a, const DepthwiseWork& work) {
    const int last = t.ndim - 1;
    StripCount strips;
    for(int d = 0; d < last; ++d) {
        const bool sweeps = t.depthwise.rows > 1 && d == last - 1;
        const int64 count = sweeps ? strips_of(a.out_length[d], work.row_dilation, work.rows) : a.out_length[d];
        strips.times(count, count);
    }
    const int64 inner = strips_of(a.out_length[last], work.dilation, t.depthwise.positions);
    strips.times(inner, inner);
    const int64 bytes = std::max(image_bytes(p.in, t.ndim, t.elem_bytes), image_bytes(p.out, t.ndim, t.elem_bytes));
    return check_strips(p.images(), strips, t.depthwise.position_threads, bytes);
}

// Divides the work among workgroups, and chooses split_k if the problem does not.
std::string set_grid(BwdWeightPlan& plan, const BwdWeightTraits& t, const Problem& p, const DepthwiseWork& whole,
                     int compute_units) {
    BwdWeightArgs& a = plan.args;
    a.group_tiles = ceil_div(a.groups, t.depthwise.channels);
    a.m_tiles = ceil_div(whole.units, whole.unit_groups);
    a.n_tiles = 1;
    // Four strips of each thread, after which threads add their sums, or fewer if units have too few workgroups.
    const int64 tiles = int64{a.group_tiles} * a.m_tiles;
    const int64 least = std::min<int64>(whole.rounds, divide_up(int64{kLeastWorkgroupsPerUnit} * compute_units, tiles));
    const int64 most = std::min<int64>(divide_up(int64{kWorkgroupsPerUnit} * compute_units, tiles), 65536);
    plan.split_k = a.split_k =
        static_cast<int>(p.split_k > 0 ? p.split_k : std::clamp<int64>(whole.rounds / 4, std::min(least, most), most));
    const int64 threads = t.depthwise.position_threads / whole.unit_groups;  // of strips
    const int64 strips = divide_up(whole.rounds, a.split_k) * threads * a.split_k;
    if(strips > kMostRows || int64{a.groups} * a.split_k > kMostRows)
        return refuse("split-k", "split_k " + number(a.split_k) + " gives strips or sums no 31-bit numbers");
    const int64 blocks = grid_size(a);
    if(blocks < 0 || blocks > kMostThreads / t.launch_threads - 1)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    const int64 partials = partial_bytes(t, p, a, compute_units);
    if(partials < 0 || partials > (int64{1} << 46))
        return refuse("workspace-size", "split_k " + number(plan.split_k) + " needs more than 2^46 bytes");
    plan.workspace.partial_bytes = partials;
    return {};
}

}  // namespace

std::string plan_depthwise(BwdWeightPlan& plan, const BwdWeightTraits& t, const Problem& p, const Addresses& at,
                           int compute_units) {
    std::string reason = check_groups(t, p, at, t.elem_bytes);
    if(!reason.empty())
        return reason;
    if(p.out_channels() * p.taps() > kMostRows)
        return refuse("depthwise-size", "a group has more than 2^31 weights");
    plan.args = make_args(t, p, 1, compute_units);
    const DepthwiseWork whole = depthwise_work(plan.args, t.ndim, t.depthwise, compute_units);
    reason = check_size(t, p, plan.args, whole);
    if(!reason.empty())
        return reason;
    if(t.depthwise.rows > 1 && (whole.stride != 1 || whole.row_stride != 1))
        return refuse("depthwise-stride", "a stride does not divide its dilation; sweeps need neighbouring taps");
    reason = set_grid(plan, t, p, whole, compute_units);
    plan.depthwise = whole;
    plan.depthwise.rounds = ceil_div(whole.rounds, plan.split_k);
    return reason;
}

}  // namespace ckgen::conv
