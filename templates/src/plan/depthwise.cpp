// Planning of family depthwise, for both operations. Each refusal names its rule in brackets and quotes the numbers.
#include <algorithm>
#include <numeric>

#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/bwd_weight_plan.hpp"

namespace ckgen::conv {
namespace {

constexpr int64 kMaxWindow = 0x7ffffff0;  // bytes of global memory that the threads of a workgroup address at once
constexpr int64 kMostThreads = int64{1} << 32;
constexpr int kWorkgroupsPerUnit = 8;  // of a compute unit: a few are resident at once, and the last ones end together
constexpr int kMostUnitGroups = 16;    // of a workgroup; the others share positions

// A thread reads and writes neighbouring groups at once.
std::string check_tensor(const char* name, const Tensor& tensor, const void* data, int bytes, int ndim, int vector) {
    if(tensor.lengths[0] > 1 && tensor.strides[0] != 1)
        return refuse("depthwise-groups", std::string(name) + " has neighbouring groups " + number(tensor.strides[0]) +
                                              " elements apart; vectors of " + number(vector) + " groups need 1");
    for(int index = 1; index < 3 + ndim; ++index)
        if(index != 2 && tensor.lengths[index] > 1 && tensor.strides[index] % vector != 0)
            return check_multiple("depthwise-vector", (std::string(name) + " stride").c_str(), tensor.strides[index],
                                  vector);
    return check_multiple("depthwise-alignment", (std::string(name) + " address").c_str(), address_of(data),
                          vector * bytes);
}

std::string check_groups(const InstanceTraits& t, const Problem& p, const Addresses& at, int in_bytes) {
    const int vector = t.depthwise.vector;
    if(p.in_channels() != 1)
        return refuse("depthwise-channels",
                      "groups have " + number(p.in_channels()) + " input channels, family depthwise takes 1");
    if(vector == 1)
        return {};
    if(p.out_channels() != 1)
        return refuse("depthwise-channels", "groups have " + number(p.out_channels()) +
                                                " output channels; vectors of " + number(vector) + " groups need 1");
    std::string reason = check_multiple("depthwise-vector", "G", p.groups(), vector);
    if(reason.empty())
        reason = check_tensor("the input", p.in, at.in, in_bytes, t.ndim, vector);
    if(reason.empty())
        reason = check_tensor("the output", p.out, at.out, t.elem_bytes, t.ndim, vector);
    return reason;
}

// Strips of `distance` residues that cover `length` positions of the innermost dimension.
int64 strips_of(int64 length, int64 distance, int positions) {
    return divide_up(length, distance * positions) * distance;
}

// Rows of a sweep: enough to make its first rows, which are only read, a small part, and few enough to fill a GPU with
// sweeps. `length`: rows of the result.
int rows_of_sweep(int length, int filter_rows) {
    const int sweeps = std::max(1, length / std::max(8, 2 * filter_rows));
    return ceil_div(length, sweeps);
}

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

// Refuses strips whose number exceeds 31 bits, or images too large for `threads` threads with neighbouring strips.
std::string check_strips(int64 images, int64 outer, int64 inner, int threads, int64 image_bytes) {
    int64 per_image = outer;
    int64 all = images;
    if(!multiply(per_image, inner) || !multiply(all, per_image) || all > kMostRows)
        return refuse("depthwise-size", "images * positions do not fit 31 bits");
    if(images > 1 && (threads / per_image + 2) > kMaxWindow / std::max<int64>(image_bytes, 1))
        return refuse("depthwise-reach", "neighbouring images span more than 2^31 bytes");
    if(image_bytes > kMaxWindow)
        return refuse("depthwise-reach", "an image has more than 2^31 bytes");
    return {};
}

int64 image_bytes(const Tensor& t, int ndim, int bytes) {
    int64 last = t.lengths[0] * std::max<int64>(t.strides[0], 1);
    for(int d = 0; d < ndim; ++d)
        last += (t.lengths[3 + d] - 1) * t.strides[3 + d];
    return std::max(last, t.lengths[1] > 1 ? t.strides[1] : 0) * bytes;
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

}  // namespace

std::string plan_depthwise(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, const Fusion& fusion,
                           const Addresses& at, int compute_units) {
    BwdDataArgs& a = plan.args;
    const DepthwiseLimits& limits = t.depthwise;
    std::string reason = check_groups(t, p, at, t.written_bytes);
    if(reason.empty() && limits.vector > 1)
        reason = check_d(t, p, fusion);
    const int last = t.ndim - 1;
    DepthwiseStripWork& work = plan.strips;
    if(reason.empty() && limits.rows > 1)
        reason = check_filter(a, t);
    int64 outer = 1, residues = 1;
    for(int d = 0; d < t.ndim; ++d) {
        residues *= std::min(a.stride[d], a.in_length[d]);
        const int positions = ceil_div(a.in_length[d], a.stride[d]);
        if(limits.rows > 1 && d == last - 1) {
            work.rows = rows_of_sweep(ceil_div(positions, a.shift[d]), limits.rows);
            outer *= strips_of(positions, a.shift[d], work.rows);
        } else if(d < last) {
            outer *= positions;
        }
    }
    const int64 inner = strips_of(ceil_div(a.in_length[last], a.stride[last]), a.shift[last], limits.positions);
    if(reason.empty())
        reason = check_strips(a.images, outer, inner, limits.position_threads, image_bytes(p.out, t.ndim, t.elem_bytes));
    if(!reason.empty())
        return reason;
    const int64 strips = a.images * outer * inner;
    work.channel_blocks = ceil_div(a.groups, limits.channels);
    const int64 rounds = divide_up(strips, limits.position_threads);
    const int64 wanted = divide_up(int64{kWorkgroupsPerUnit} * compute_units, residues * work.channel_blocks);
    work.rounds = static_cast<int32>(std::clamp<int64>(rounds / wanted, 1, 256));
    work.shares = static_cast<int32>(divide_up(rounds, work.rounds));
    int64 blocks = residues;
    if(residues > kMostRows || !multiply(blocks, work.channel_blocks) || !multiply(blocks, work.shares) ||
       blocks > kMostThreads / t.launch_threads - 1)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(blocks);
    return {};
}

DepthwiseWork depthwise_work(const BwdWeightArgs& a, int ndim, const DepthwiseLimits& limits) {
    DepthwiseWork work{};
    const int last = ndim - 1;
    work.units = a.m * ceil_div(a.filter[last], limits.row_taps);
    int64 strips = a.k;
    for(int d = 0; d < last; ++d)
        work.units *= ceil_div(a.filter[d], d == last - 1 ? limits.rows : 1);
    work.rows = 1;
    work.row_stride = 1;
    if(limits.rows > 1) {
        const int height = last - 1, common_rows = std::gcd(a.stride[height], a.dilation[height]);
        work.row_stride = a.stride[height] / common_rows;
        work.row_dilation = a.dilation[height] / common_rows;
        work.rows = rows_of_sweep(ceil_div(a.out_length[height], work.row_dilation), limits.rows);
        strips = strips / a.out_length[height] * strips_of(a.out_length[height], work.row_dilation, work.rows);
    }
    const int most = std::min(kMostUnitGroups, limits.position_threads);
    work.unit_groups = ceil_div(work.units, ceil_div(work.units, most));
    const int common = std::gcd(a.stride[last], a.dilation[last]);
    work.stride = a.stride[last] / common;
    work.dilation = a.dilation[last] / common;
    strips = strips / a.out_length[last] * strips_of(a.out_length[last], work.dilation, limits.positions);
    work.rounds = static_cast<int32>(
        divide_up(divide_up(strips, limits.position_threads / work.unit_groups), a.split_k));
    return work;
}

std::string plan_depthwise(BwdWeightPlan& plan, const BwdWeightTraits& t, const Problem& p, const Addresses& at,
                           int compute_units) {
    const DepthwiseLimits& limits = t.depthwise;
    std::string reason = check_groups(t, p, at, t.elem_bytes);
    if(!reason.empty())
        return reason;
    int64 units = p.out_channels() * p.taps();
    if(units > kMostRows)
        return refuse("depthwise-size", "a group has more than 2^31 weights");
    BwdWeightArgs& a = plan.args;
    a = make_args(t, p, 1, compute_units);
    const int last = t.ndim - 1;
    int64 outer = 1;
    for(int d = 0; d < last; ++d)
        outer *= a.out_length[d];  // at least the number of sweeps
    const int64 distance = a.dilation[last] / std::gcd(a.stride[last], a.dilation[last]);
    const int64 inner = strips_of(a.out_length[last], distance, limits.positions);
    const int64 bytes = std::max(image_bytes(p.in, t.ndim, t.elem_bytes), image_bytes(p.out, t.ndim, t.elem_bytes));
    reason = check_strips(p.images(), outer, inner, limits.position_threads, bytes);
    if(!reason.empty())
        return reason;
    a.split_k = 1;
    const DepthwiseWork whole = depthwise_work(a, t.ndim, limits);
    if(limits.rows > 1 && (whole.stride != 1 || whole.row_stride != 1))
        return refuse("depthwise-stride", "strides that are no divisors of the dilations; sweeps need neighbouring taps");
    a.group_tiles = ceil_div(a.groups, limits.channels);
    a.m_tiles = ceil_div(whole.units, whole.unit_groups);
    a.n_tiles = 1;
    const int64 wanted =
        divide_up(int64{kWorkgroupsPerUnit} * compute_units, int64{a.group_tiles} * a.m_tiles);
    plan.split_k = a.split_k = static_cast<int>(
        p.split_k > 0 ? p.split_k : std::clamp<int64>(whole.rounds / 4, 1, std::min<int64>(wanted, 65536)));
    const int64 blocks = grid_size(a);
    if(blocks < 0 || blocks > kMostThreads / t.launch_threads - 1)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    const int64 partials = partial_bytes(t, p, a, compute_units);
    if(partials < 0 || partials > (int64{1} << 46))
        return refuse("workspace-size", "split_k " + number(plan.split_k) + " needs more than 2^46 bytes");
    plan.workspace.partial_bytes = partials;
    return {};
}

}  // namespace ckgen::conv
