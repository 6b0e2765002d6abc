// Copied by ckgen from templates/src/plan/bwd_weight_plan.cpp. Do not edit; run: ckgen generate
// Planning of backward weight. Each refusal names its rule in brackets and quotes the numbers.
#include "ckgen/plan/bwd_weight_plan.hpp"

#include <algorithm>
#include <climits>
#include <vector>

#include "ckgen/plan/fusion_checks.hpp"

namespace ckgen::conv {
namespace {

constexpr int64 kMaxChunkBytes = int64{1} << 30;  // leaves room below 2^31 for a chunk's rows past the last

int64 extent(const Tensor& t, int ndim) {
    int64 last = 1;
    for(int index = 1; index < 3 + ndim; ++index)
        last += (t.lengths[index] - 1) * t.strides[index];
    return last;
}

// The image stride, or for a single image its size: the cursor adds it when it passes the last image.
int64 image_stride(const Tensor& t, int ndim) {
    int64 size = std::max(t.position_stride(ndim), t.strides[kChannels] * t.lengths[kChannels]);
    for(int d = 0; d < ndim; ++d)
        size = std::max(size, t.strides[3 + d] * t.lengths[3 + d]);
    return t.lengths[1] > 1 ? t.strides[1] : size;
}

// Distances in the input between the elements under neighbouring rows of GEMM-K. A row is an output position. The next
// row is one step of the innermost dimension further, or a jump where dimension d (and all inside it) restarts.
class RowTravel {
public:
    RowTravel(const BwdWeightTraits& t, const Problem& p) {
        int64 inner_rows = 1;
        int64 inner_bytes = 0;  // from the first to the last position of the dimensions inside
        for(int d = p.ndim - 1; d >= 0; --d) {
            const int64 step = p.strides[d] * p.in.strides[3 + d] * t.elem_bytes;
            if(d == p.ndim - 1)
                jumps_.push_back({1, step});
            inner_rows *= p.out.lengths[3 + d];
            inner_bytes += (p.out.lengths[3 + d] - 1) * step;
            const int64 outer = d > 0 ? p.strides[d - 1] * p.in.strides[2 + d] : image_stride(p.in, p.ndim);
            jumps_.push_back({inner_rows, outer * t.elem_bytes - inner_bytes});
            taps_ahead_ += (p.wei.lengths[3 + d] - 1) * p.dilations[d] * p.in.strides[3 + d] * t.elem_bytes;
            back_ += p.left_pads[d] * p.in.strides[3 + d] * t.elem_bytes;
        }
        int64 deepest = 0;
        for(const Jump& jump : jumps_)
            deepest = std::max(deepest, -jump.bytes);
        back_ += deepest;
        taps_ahead_ += ((p.in_channels() - 1) * p.in.strides[kChannels] + 1) * t.elem_bytes;
    }

    // Number of bytes before a row's own offset that this or a later row may read.
    int64 back() const { return back_; }
    // An upper bound on the bytes that `rows` neighbouring rows may read, from the first to the last.
    int64 span(int64 rows) const {
        int64 bytes = back_ + taps_ahead_;
        for(const Jump& jump : jumps_)
            bytes += (rows / jump.every + 1) * std::max<int64>(jump.bytes, 0);
        return bytes;
    }

private:
    struct Jump {
        int64 every;  // rows
        int64 bytes;
    };
    std::vector<Jump> jumps_;
    int64 back_ = 0;
    int64 taps_ahead_ = 0;
};

// Number of bytes that a tile may read of a K-major tensor: its rows are positions, its channels planes of them.
int64 planes_reach(const BwdWeightTraits& t, const Problem& p, const Tensor& tensor, int64 block) {
    const int64 images = std::min(t.k_per_block / p.out_positions() + 1, p.images() - 1);
    const int64 channels = std::min<int64>(block, tensor.lengths[kChannels]);
    return (images * image_stride(tensor, p.ndim) + channels * tensor.strides[kChannels] +
            p.out_positions() * tensor.position_stride(p.ndim)) *
           t.elem_bytes;
}

// The largest number of GEMM-K rows, up to `most`, whose elements lie within kMaxChunkBytes in both operands.
int64 chunk_rows(const BwdWeightTraits& t, const Problem& p, int64 most) {
    int64 rows = most;
    if(channels_last(t.order.out, p.ndim))
        rows = std::min(most, kMaxChunkBytes / (p.out.position_stride(p.ndim) * t.elem_bytes));
    else if(planes_reach(t, p, p.out, t.m_per_block) > kMaxChunkBytes)
        return 0;
    if(t.conv_spec == ConvSpec::Filter1x1Stride1Pad0) {
        if(channels_last(t.order.in, p.ndim))
            return std::min(rows, kMaxChunkBytes / (p.in.position_stride(p.ndim) * t.elem_bytes));
        return planes_reach(t, p, p.in, t.n_per_block) > kMaxChunkBytes ? 0 : rows;
    }
    const RowTravel travel(t, p);
    while(rows > 0 && travel.span(rows) > kMaxChunkBytes)
        rows = rows / 8 * 7 + rows % 8 - 1;
    return rows;
}

std::string check_tensor_maps(const BwdWeightTraits& t, const Problem& p) {
    if(t.copies_planes()) {
        const std::string reason = check_planes(t, p.in);
        return reason.empty() ? check_planes(t, p.out) : reason;
    }
    for(int d = 0; d < p.ndim; ++d) {
        const int64 last = (p.out.lengths[3 + d] - 1) * p.strides[d] - p.left_pads[d];
        const std::string reason = check_walk(p.ndim, d, -p.left_pads[d], last - p.in.lengths[3 + d] + 1,
                                              (p.wei.lengths[3 + d] - 1) * p.dilations[d]);
        if(!reason.empty())
            return reason;
        if(p.strides[d] > 8)
            return refuse("tma-limits", "stride " + number(p.strides[d]) + " of dimension " + number(d) +
                                            " is more than the 8 a tensor map can describe");
    }
    if(const int index = unaligned_input(t, p); index >= 0 && !t.any_planes)
        return refuse("tma-limits",
                      "an input stride of " + number(p.in.strides[index]) + " elements is not a multiple of 16 bytes");
    if(image_stride(p.in, p.ndim) * t.elem_bytes % 16 != 0 && !t.any_planes)
        return refuse("tma-limits", "an image is not a multiple of 16 bytes");
    for(const Tensor* tensor : {&p.in, &p.out})
        if((tensor->lengths[0] - 1) * tensor->strides[0] + tensor->lengths[2] > INT_MAX - 4096)
            return refuse("tma-limits", kFarGroups);
    if(p.out.position_stride(p.ndim) * t.elem_bytes > INT_MAX)
        return refuse("tma-limits", "positions of the output are more than 2^31 bytes apart");
    if(image_stride(p.in, p.ndim) * t.elem_bytes >= int64{1} << 40)
        return refuse("tma-limits", "images are 2^40 or more bytes apart");
    return {};
}

// Refuses filters that family halo does not take: it has 3x3 taps. A workgroup of family depthwise_tma has a warp for
// each of their parts.
std::string check_halo_filter(const HaloLimits& halo, const Problem& p) {
    const auto taps = [&](int d) { return p.wei.lengths[3 + d]; };
    if(halo.unit_taps > 0) {
        const int64 parts = divide_up(taps(0), halo.unit_rows) * divide_up(taps(1), halo.unit_taps);
        return parts <= halo.warps
                   ? ""
                   : refuse("halo-filter", "the filter has " + number(parts) + " parts of " + number(halo.unit_rows) +
                                               "x" + number(halo.unit_taps) + " taps, more than " + number(halo.warps));
    }
    for(int d = 0; d < p.ndim; ++d)
        if(taps(d) != kHaloTaps)
            return refuse("halo-filter", "the filter has " + number(taps(d)) + " taps in a dimension, not 3");
    return "";
}

// Families halo and depthwise_tma take strides of 1 or 2, adjacent groups with exactly the tile's channels (or any
// number of channels where a workgroup has 64 channels of one group), and rows short enough for their rings.
std::string check_halo(const BwdWeightTraits& t, const Problem& p) {
    if(const std::string reason = check_halo_filter(t.halo, p); !reason.empty())
        return reason;
    for(int d = 0; d < p.ndim; ++d) {
        if(p.strides[d] > (t.halo.strips ? 1 : 2))
            return refuse("halo-stride",
                          "stride " + number(p.strides[d]) + " is not 1" + (t.halo.strips ? "" : " or 2"));
    }
    const auto beside = [&](const char* name, const Tensor& tensor, int channels) -> std::string {
        const bool fit = channels == tensor.lengths[2] && (p.groups() == 1 || tensor.strides[0] == tensor.lengths[2]);
        return fit ? ""
                   : refuse("halo-groups", std::string(name) + " has groups of " + number(tensor.lengths[2]) +
                                               " channels, " + number(tensor.strides[0]) +
                                               " apart; the instance needs " + number(channels) + " side by side");
    };
    std::string reason;
    if(t.groups_per_block > 1) {
        const bool depthwise = t.halo.unit_taps > 0;  // whose tile is taps by groups
        reason = beside("input", p.in, depthwise ? 1 : t.n_per_block);
        if(reason.empty())
            reason = beside("output", p.out, depthwise ? 1 : t.m_per_block);
        if(reason.empty() && (depthwise || t.groups_to_merge > 1) &&
           needs_repack(t, p))  // a copy would not have the groups side by side
            reason = refuse("tma-limits", "positions of the output are not multiples of 16 bytes");
    }
    const int64 steps = reason.empty() ? halo_steps(t, p) : 1;
    if(steps == 0)
        reason = refuse("halo-rows",
                        "rows of " + number(p.out.lengths[4]) + " output positions are too long for shared memory");
    if(steps > kMostRows)
        reason = refuse("gemm-k-size", "images * steps = " + number(steps) + " does not fit 31 bits");
    return reason;
}

// `p`: with merged groups.
std::string check_sizes(const BwdWeightTraits& t, const Problem& p) {
    if(const int64 rows = rows_of_k(t, p); rows > INT_MAX - 4096)
        return refuse("gemm-k-size", std::string("images * ") + (t.exchange ? "input" : "output") +
                                         " positions = " + number(rows) + " does not fit 31 bits");
    if(p.out_channels() > kMostRows)
        return refuse("gemm-m-size", "K of merged groups = " + number(p.out_channels()) + " does not fit 31 bits");
    if(tap_columns(t, p) * p.taps() > INT_MAX - 4096)
        return refuse("gemm-n-size", (t.exchange ? "K * taps = " : "C * taps = ") + number(p.in_channels() * p.taps()) +
                                         " does not fit 31 bits");
    if(t.tma) {
        const std::string reason = check_tensor_maps(t, p);
        return reason.empty() && t.is_halo() ? check_halo(t, p) : reason;
    }
    if(chunk_rows(t, p, t.k_per_block) < t.k_per_block)
        return refuse("tile-reach", "what the " + number(t.k_per_block) +
                                        " output positions of a tile read spans more " +
                                        "than 2^30 bytes of the input or the output");
    return {};
}

// Checks before the problem is split.
std::string problem_reason(const BwdWeightTraits& t, const Problem& p, const Fusion& fusion, const Addresses& at) {
    std::string reason = check_problem(t, p);
    if(reason.empty())
        reason = check_pointwise(t, p);
    if(reason.empty())
        reason = check_exchange(t, p);
    const bool one_distance = t.exchange || t.conv_spec == ConvSpec::Filter1x1Stride1Pad0 || copies_input(t, p);
    if(reason.empty() && one_distance)  // of rows
        reason = channels_last(t.order.in, p.ndim)
                     ? check_strides("input", p.in, p.ndim, groups_outermost(t.order.in), true)
                     : check_axes("input", p.in, p.ndim, t.order.in, true);
    if(!reason.empty())
        return reason;
    const Problem read = with_copied_input(t, p);
    const Problem merged = with_merged_groups(t, exchanged(t, read));
    reason = t.groups_to_merge > 1 ? check_group_vectors(t, p, merged, at) : check_vectors(t, read, at);
    if(reason.empty())
        reason = check_shifted_vectors(t, p);
    if(reason.empty())
        reason = check_sizes(t, merged);
    if(reason.empty() && t.is_halo() && t.groups_to_merge > 1 && merged_groups(t, exchanged(t, p)) != t.groups_to_merge)
        reason = refuse("halo-groups", "the instance merges " + number(t.groups_to_merge) +
                                           " groups that are side by side; the problem has no such groups");
    return reason.empty() ? check_fusion(t, p, fusion, at.wei) : reason;
}

// Sets where the kernel finds the output: in the tensor, or in the rows that it is repacked to.
void set_output_strides(BwdWeightArgs& a, const BwdWeightTraits& t, const Problem& p) {
    const int64 bytes = t.elem_bytes;
    a.out_group_bytes = p.out.strides[0] * bytes;
    a.out_row_bytes = static_cast<int32>(p.out.position_stride(p.ndim) * bytes);
    a.out_extent_bytes = extent(p.out, p.ndim) * bytes;
    a.out_channel_bytes = static_cast<int32>(p.out.strides[kChannels] * bytes);
    a.out_image_bytes = image_stride(p.out, p.ndim) * bytes;
    a.out_positions = static_cast<int32>(p.out_positions());
    if(needs_repack(t, p)) {
        const RepackArgs copy = repack_args(p, TensorName::out, t.elem_bytes, kMostPadding);
        a.out_group_bytes = copy.group_bytes();
        a.out_row_bytes = static_cast<int32>(copy.groups * copy.group_bytes());
        a.out_extent_bytes = (copy.positions - 1) * a.out_row_bytes + copy.columns * 2;
    }
}

// Sets where the kernel finds the input, and the sizes of all dimensions.
void set_input_strides(BwdWeightArgs& a, const BwdWeightTraits& t, const Problem& p) {
    const int64 bytes = t.elem_bytes;
    a.in_group_bytes = p.in.strides[0] * bytes;
    a.in_image_bytes = image_stride(p.in, p.ndim) * bytes;
    a.in_channel_bytes = static_cast<int32>(p.in.strides[kChannels] * bytes);
    a.in_extent_bytes = extent(p.in, p.ndim) * bytes;
    a.in_row_bytes = static_cast<int32>(p.in.position_stride(p.ndim) * bytes);
    a.in_reach_bytes = RowTravel(t, p).back();
    for(int d = p.ndim - 1; d >= 0; --d) {
        a.filter[d] = static_cast<int32>(p.wei.lengths[3 + d]);
        a.dilation[d] = static_cast<int32>(p.dilations[d]);
        a.pad[d] = static_cast<int32>(p.left_pads[d]);
        a.out_length[d] = static_cast<int32>(p.out.lengths[3 + d]);
        a.in_length[d] = static_cast<int32>(p.in.lengths[3 + d]);
        a.stride[d] = static_cast<int32>(p.strides[d]);
        a.in_stride_bytes[d] = p.in.strides[3 + d] * bytes;
        a.limit[d] = a.out_length[d] * a.stride[d];
        const int64 outer = d > 0 ? p.strides[d - 1] * p.in.strides[2 + d] * bytes : a.in_image_bytes;
        a.wrap_bytes[d] = outer - a.limit[d] * a.in_stride_bytes[d];
    }
}

// A D tensor with its strides, which check_fusion() has found to fit.
BwdWeightTensor d_tensor(const DTensorTraits& traits, const Problem& p, const DTensor& d) {
    const Tensor shape = spread(traits, d.shape, p.ndim);
    BwdWeightTensor result{static_cast<const char*>(d.data), {shape.strides[0], shape.strides[1], {}, 0}};
    result.strides.channel = static_cast<int32>(shape.strides[kChannels]);
    for(int i = 0; i < p.ndim; ++i)
        result.strides.position[i] = static_cast<int32>(shape.strides[3 + i]);
    return result;
}

// Sets what tells merged groups apart.
void set_merged_groups(BwdWeightArgs& a, const BwdWeightTraits& t, const Problem& p) {
    const auto k = static_cast<int32>(p.out_channels()), c = static_cast<int32>(p.in_channels());
    const auto taps = static_cast<int32>(p.taps());
    const int32 inner = channels_last(t.order.wei, p.ndim) ? a.c : taps;
    a.merged = {k, c, c * taps, Divider::by(k), Divider::by(c), Divider::by(inner)};
    a.out_group_bytes = p.out.strides[0] * t.elem_bytes;
    a.in_group_bytes = p.in.strides[0] * t.elem_bytes;
}

BwdWeightPlan refused(const std::string& reason) {
    BwdWeightPlan plan;
    plan.reason = reason;
    return plan;
}

}  // namespace

BwdWeightPlan make_plan(const BwdWeightTraits& t, const Problem& problem, const Fusion& fusion, const Addresses& at,
                        int compute_units) {
    const Problem given = with_unit_strides(problem, t.order);
    const std::string reason = problem_reason(t, given, fusion, at);
    if(!reason.empty())
        return refused(reason);
    BwdWeightPlan plan;
    for(std::size_t i = 0; i < t.d.size(); ++i)
        plan.d.push_back(d_tensor(t.d[i], given, fusion.d[i]));
    const Problem p = with_copied_input(t, exchanged(t, given));
    if(t.plan_family != nullptr) {
        plan.reason = t.plan_family(plan, t, p, at, compute_units);
        return plan;
    }
    plan.split_k = resolve_split_k(t, p, compute_units);
    plan.args = make_args(t, p, plan.split_k, compute_units);
    const int64 blocks = grid_size(plan.args);
    if(blocks < 0 || blocks > INT_MAX / t.launch_threads * int64{2})
        return refused(refuse("grid-size", "the grid would hold more than 2^32 threads"));
    const int64 bytes = partial_bytes(t, p, plan.args, compute_units);
    if(bytes < 0 || bytes > (int64{1} << 46))
        return refused(refuse("workspace-size", "split_k " + number(plan.split_k) + " needs more than 2^46 bytes"));
    if(!t.persistent && bytes > 0) {  // a kernel adds partials
        const int64 weights = bytes / (int64{4} * plan.split_k);
        if(weights > int64{1} << 32)
            return refused(refuse("grid-size", "the kernel that adds partials would hold more than 2^32 threads"));
        if(t.exchange && weights / p.groups() > INT_MAX)
            return refused(refuse("workspace-size", "partials of a group have more than 2^31 weights"));
    }
    plan.workspace.partial_bytes = bytes;
    const std::string too_large = place_copies(plan, t, given);
    return too_large.empty() ? plan : refused(too_large);
}

int64 merged_groups(const BwdWeightTraits& t, const Problem& p) {
    const auto beside = [&](const Tensor& x, const Axes& axes) {
        const int64 step = channels_last(axes, p.ndim) ? 1 : x.strides[kChannels];
        return x.lengths[0] == 1 || x.strides[0] == x.lengths[kChannels] * step;
    };
    return beside(p.in, t.order.in) && beside(p.out, t.order.out) ? std::min<int64>(t.groups_to_merge, p.groups()) : 1;
}

Problem with_merged_groups(const BwdWeightTraits& t, const Problem& problem) {
    const int64 groups = merged_groups(t, problem);
    Problem p = problem;
    for(Tensor* tensor : {&p.in, &p.wei, &p.out}) {
        tensor->lengths[0] = divide_up(tensor->lengths[0], groups);
        tensor->lengths[kChannels] *= groups;
        tensor->strides[0] *= groups;
    }
    p.wei.lengths[1] *= groups;
    return p;
}

BwdWeightArgs make_args(const BwdWeightTraits& t, const Problem& problem, int split_k, int compute_units) {
    const Problem p = with_merged_groups(t, problem);
    BwdWeightArgs a{};
    a.m = static_cast<int32>(p.out_channels());
    a.c = static_cast<int32>(p.in_channels());
    a.n = static_cast<int32>(p.in_channels() * p.taps());
    a.tap_columns = static_cast<int32>(tap_columns(t, p));
    a.columns = static_cast<int32>(a.tap_columns * p.taps());
    a.k = static_cast<int32>(rows_of_k(t, p));
    a.m_tiles = static_cast<int32>(m_tiles(t, p));
    a.n_tiles = ceil_div(t.is_halo() ? a.c : a.columns, t.n_per_block);
    a.groups = static_cast<int32>(problem.groups());
    a.groups_per_block = t.is_halo() ? t.groups_per_block : static_cast<int32>(merged_groups(t, problem));
    a.group_tiles = ceil_div(a.groups, a.groups_per_block);
    a.split_k = split_k;
    a.k_tiles = t.is_halo() ? static_cast<int32>(halo_steps(t, p)) : ceil_div(a.k, t.k_per_block);
    a.wei_group_elements = problem.out_channels() * problem.in_channels() * problem.taps();
    set_output_strides(a, t, p);
    set_input_strides(a, t, p);
    if(t.groups_to_merge > 1 || t.exchange)
        set_merged_groups(a, t, problem);

    const int64 all_rows = int64{a.k_tiles} * t.k_per_block;
    a.k_tiles_per_chunk = static_cast<int32>(t.tma ? summed_tiles(t, p, split_k)
                                                   : std::max<int64>(1, chunk_rows(t, p, all_rows) / t.k_per_block));
    a.schedule = tile_schedule(t, p, split_k, compute_units);
    const int splits = t.persistent && a.schedule.stream_k_tiles > 0 ? a.schedule.splits : split_k;
    a.k_tiles_per_split = ceil_div(ceil_div(a.k_tiles, splits), t.tiles_per_half) * t.tiles_per_half;
    return a;
}

int64 grid_size(const BwdWeightArgs& a) {
    int64 blocks = a.m_tiles;
    if(!multiply(blocks, a.n_tiles) || !multiply(blocks, a.group_tiles) || !multiply(blocks, a.split_k))
        return -1;
    return blocks;
}

}  // namespace ckgen::conv
