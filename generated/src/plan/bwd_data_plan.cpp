// Copied by ckgen from templates/src/plan/bwd_data_plan.cpp. Do not edit; run: ckgen generate
// Planning of backward data. Each refusal names its rule in brackets and quotes the numbers.
#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/fusion_checks.hpp"
#include "ckgen/plan/tile_work.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

namespace ckgen::conv {
namespace {

constexpr int64 kMaxTileBytes = 0x7ffffff0;   // of a window of global memory
constexpr int64 kMaxStep = 65535;             // limit of strides: products of two residues fit 32 bits
constexpr int64 kMaxBlocks = int64{1} << 32;  // limit of threads too
constexpr int kBoxPositions = 64;             // of a copy by TMA

std::string check_conv_spec(const BwdDataTraits& t, const Problem& p) {
    std::string reason = check_pointwise(t, p);
    if(reason.empty() && t.conv_spec == ConvSpec::Filter1x1Stride1Pad0 &&
       (!Pointwise(p.in, p.in.lengths, p.ndim, t.order).possible ||
        !Pointwise(p.out, p.out.lengths, p.ndim, t.order).possible))
        reason = refuse("conv-spec", "Filter1x1Stride1Pad0 needs positions of input and output one after the other");
    return reason.empty() && t.conv_spec == ConvSpec::Filter1x1Stride1Pad0
               ? check_position_stride("the input", Pointwise(p.in, p.in.lengths, p.ndim, t.order), t.written_bytes)
               : reason;
}

// Channels of a vector of the weight's copy. Columns outside a tensor take TMA longer.
int copied_vector(const BwdDataTraits& t, const Problem& p) {
    return !copies_weight(t, p) ? 1 : t.tma ? 128 / t.elem_bytes : t.b_vector;
}

// Checks before sizes are multiplied.
std::string problem_reason(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, const Addresses& at) {
    std::string reason = check_problem(t, p);
    for(int d = 0; reason.empty() && d < p.ndim; ++d)
        if(p.strides[d] > kMaxStep)
            reason = refuse("strides",
                            "stride " + number(p.strides[d]) + " of dimension " + number(d) + " is more than 65535");
    if(!reason.empty())
        return reason;
    const BwdDataProblem merged = with_merged_groups(t, p, fusion);  // strides of groups may become those of channels
    reason = check_inner_strides("input", merged.problem.in, p.ndim, t.written_bytes);
    if(reason.empty())
        reason = check_inner_strides("output", merged.problem.out, p.ndim, t.elem_bytes);
    if(reason.empty())
        reason = check_conv_spec(t, p);
    if(!reason.empty())
        return reason;
    reason = t.groups_to_merge > 1 ? check_group_vectors(t, p, merged.problem, at) : check_vectors(t, p, at);
    if(reason.empty())
        reason = check_row_vectors(t, p);
    for(int d = 0; reason.empty() && d < p.ndim; ++d)
        if(t.c_vector > 1 && !channels_last(t.order.in, p.ndim) && p.strides[d] > 1)
            reason = refuse("c-vector", "stride " + number(p.strides[d]) + " of dimension " + number(d) +
                                            " parts neighbouring input positions; vectors of them need stride 1");
    if(reason.empty() && (t.sums_columns || copies_weight(t, p)))
        reason = check_weight_copy(p, copied_vector(t, p));
    if(reason.empty())
        reason = check_fusion(t, merged.problem, merged.fusion, at.in);
    return reason.empty() ? check_d_positions(t, p, fusion) : reason;
}

// The inverse of `a` modulo `modulus`; they have no common factor.
int64 inverse_of(int64 a, int64 modulus) {
    int64 x = 0, next = 1, rest = modulus, divisor = a % modulus;
    while(divisor != 0) {
        const int64 times = rest / divisor;
        x = std::exchange(next, x - times * next);
        rest = std::exchange(divisor, rest - times * divisor);
    }
    return modulus == 1 ? 0 : (x % modulus + modulus) % modulus;
}

}  // namespace

void set_dimension(BwdDataArgs& a, const Problem& p, int d) {
    const int64 common = std::gcd(p.strides[d], p.dilations[d]);
    a.filter[d] = static_cast<int32>(p.wei.lengths[3 + d]);
    a.stride[d] = static_cast<int32>(p.strides[d]);
    a.dilation[d] = static_cast<int32>(p.dilations[d]);
    a.pad[d] = static_cast<int32>(p.left_pads[d]);
    a.out_length[d] = static_cast<int32>(p.out.lengths[3 + d]);
    a.in_length[d] = static_cast<int32>(p.in.lengths[3 + d]);
    a.common[d] = static_cast<int32>(common);
    a.tilde[d] = static_cast<int32>(p.strides[d] / common);
    a.shift[d] = static_cast<int32>(p.dilations[d] / common);
    a.inverse[d] = static_cast<int32>(inverse_of(a.shift[d], a.tilde[d]));
}

namespace {

// Sets channels, groups, images and the dimensions of the kernel. With a pointwise filter all positions of an image
// make one dimension, or, where channels come last, all positions of all images.
std::string set_lengths(BwdDataArgs& a, const BwdDataTraits& t, const Problem& p, bool pointwise) {
    a.n = static_cast<int32>(p.in_channels());
    a.k = static_cast<int32>(p.out_channels());
    a.groups = static_cast<int32>(p.groups());
    const bool joined = pointwise && Pointwise::joins_images(t.order, p.ndim);
    a.images = static_cast<int32>(joined ? 1 : p.images());
    if(pointwise && p.gemm_k() > kMostRows)
        return refuse("gemm-m-size", "images * positions = " + number(p.gemm_k()) + " does not fit 31 bits");
    for(int d = 0; d < t.kernel_ndim(); ++d)
        set_dimension(a, p, d);
    if(pointwise) {
        a.positions = static_cast<int32>(p.gemm_k() / a.images);
        a.in_length[0] = a.out_length[0] = t.any_planes        ? shifted_rows(p, t.elem_bytes)
                                           : t.copies_planes() ? ceil_div(a.positions, kBoxPositions) * kBoxPositions
                                                               : a.positions;
        a.dilation[0] = a.shift[0] = 1;
    }
    return {};
}

// Cuts GEMM-K into tiles. A tile has a part of one tap's channels. Where channels are few it has whole taps of tap_rows
// each: the smallest part of a tile that holds a tap's channels and is a multiple of a slot.
void set_k_tiles(BwdDataArgs& a, const BwdDataTraits& t, const Problem& p) {
    a.k_chunks = ceil_div(a.k, t.k_per_block);
    a.tap_rows = t.k_per_block;
    a.tile_taps = 1;
    if(t.tma) {
        a.tap_rows = copied_rows(t, p);
        a.k_chunks = ceil_div(a.k, a.tap_rows);
        return;
    }
    if(t.one_tap_tiles)
        return;
    const int k1 = 16 / t.compute_bytes;
    for(int rows = k1; rows < t.k_per_block; rows += k1)
        if(t.k_per_block % rows == 0 && rows >= a.k) {
            a.tap_rows = rows;
            break;
        }
    a.tile_taps = t.k_per_block / a.tap_rows;
}

// Number of bytes of the output that a tile may read before the first tap of its first row (out_back_bytes), and from
// there on.
struct Reach {
    int64 back = 0, ahead = 0;

    Reach(const BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
        int64 taps = 0;
        int64 inner_rows = 1, inner_bytes = 0, deepest = 0;
        const auto level = [&](int64 length, int64 least, int64 step) {
            deepest = std::max(deepest, length > 1 ? inner_bytes - step : 0);  // where the dimensions inside restart
            ahead += std::min<int64>(t.m_per_block / inner_rows + 1, length - 1) * step;
            inner_rows = std::min<int64>(inner_rows * least, t.m_per_block);
            inner_bytes += (length - 1) * step;
        };
        for(int d = ndim - 1; d >= 0; --d) {
            const Counted positions(a, t, ndim, d);
            level(positions.most, positions.least, a.out_stride_bytes[d]);
            taps += int64{a.shift[d]} * (ceil_div(a.filter[d], a.tilde[d]) - 1) * a.out_stride_bytes[d];
        }
        level(a.images, a.images, a.out_image_bytes);
        back = deepest + taps + (t.row_vector > 1 ? t.row_vector * t.elem_bytes : 0);  // from inside the plane
        ahead += int64{a.k} * std::max(a.out_k_bytes, t.elem_bytes) + 16;
    }
};

// Number of bytes of the weight that a tile may read from its first row on.
int64 weight_reach(const BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
    const int64 column = std::max<int64>(a.wei_c_bytes, t.elem_bytes);
    int64 bytes = std::max(t.k_per_block * a.wei_k_bytes, a.n * column) + t.n_per_block * column + 16;
    for(int d = 0; d < ndim; ++d)
        bytes += (a.filter[d] - 1) * a.wei_stride_bytes[d];
    return bytes;
}

// Sets the number of tiles that a persistent kernel has for the positions without a tap: those of every combination of
// the dimensions' residues modulo the stride, as of_tile() counts them.
std::string set_tiles_without_taps(BwdDataArgs& a, int ndim) {
    int64 tiles = a.m_tiles;
    bool fits = true;
    for(int d = 0; d < ndim; ++d)
        fits = fits && multiply(tiles, std::min(a.stride[d], a.in_length[d]));
    if(!fits || tiles > kMostRows)
        return refuse("grid-size", "the positions without a tap have too many tiles");
    a.tiles_without_taps = static_cast<int32>(tiles);
    return {};
}

// Refuses sizes that exceed 31 bits; sets everything in `a` that does not depend on the split.
std::string set_sizes(BwdDataArgs& a, const BwdDataTraits& t, int ndim, int row_overlap) {
    int64 rows = a.images, positions = a.images, sub_gemms = 1;
    bool fits = true;
    for(int d = 0; d < ndim; ++d) {
        fits = fits && multiply(rows, Counted(a, t, ndim, d).most) && multiply(positions, a.in_length[d]) &&
               multiply(sub_gemms, std::min(a.tilde[d], a.filter[d]));
    }
    const bool gaps = has_positions_without_taps(a, ndim);
    if(!fits || rows > kMostRows || (gaps && positions > kMostRows))
        return refuse("gemm-m-size", "images * input positions = " + number(fits ? positions : -1) +
                                         " of one GEMM do not fit 31 bits");
    if(sub_gemms > kMostRows)
        return refuse("grid-size", "there are " + number(sub_gemms) + " sub-GEMMs");
    if(a.n > kMostRows || a.k > kMostRows || most_taps(a, ndim) * a.k_chunks > kMostRows)
        return refuse("k-tiles", "GEMM-K of " + number(a.k) + " channels and " + number(most_taps(a, ndim)) +
                                     " taps has too many tiles");
    a.m_tiles = ceil_div(std::max(1, static_cast<int>(rows) - row_overlap), t.m_per_block - row_overlap);
    a.n_tiles = ceil_div(a.n, t.n_per_block);
    a.sub_gemms = static_cast<int32>(sub_gemms);
    a.skips_taps = skips_taps(a, t, ndim) ? 1 : 0;
    a.tiles_without_taps = gaps ? ceil_div(static_cast<int>(positions), t.m_per_block) : 0;
    if(t.tma)
        return gaps ? set_tiles_without_taps(a, ndim) : "";
    const Reach reach(a, t, ndim);
    a.out_back_bytes = reach.back;
    if(reach.back + reach.ahead > kMaxTileBytes || weight_reach(a, t, ndim) > kMaxTileBytes)
        return refuse("tile-reach", "what the " + number(t.m_per_block) +
                                        " input positions of a tile read spans more than 2^31 bytes");
    return {};
}

// The stride of a dimension of length 1 may be anything and counts as 0.
int64 stride_of(const Tensor& tensor, int index) { return tensor.lengths[index] > 1 ? tensor.strides[index] : 0; }

// Sets the strides of partials, which are packed: channels or positions are contiguous as in the input.
void set_partial_strides(BwdDataArgs& a, int ndim, bool last) {
    int64 elements = last ? a.n : 1;
    for(int d = ndim - 1; d >= 0; --d) {
        a.partial_strides.position[d] = position_stride(elements);
        elements *= a.in_length[d];
    }
    a.partial_strides.channel = last ? 1 : position_stride(elements);
    elements *= last ? 1 : a.n;
    a.partial_strides.image = elements;
    a.partial_strides.group = elements * a.images;
    a.partial_elements = a.partial_strides.group * a.groups;
}

void set_input_strides(BwdDataArgs& a, const Tensor& in, int ndim) {
    for(int d = 0; d < ndim; ++d)
        a.in.position[d] = position_stride(stride_of(in, 3 + d));
}

void set_strides(BwdDataArgs& a, const BwdDataTraits& t, const Problem& p, bool pointwise) {
    const int64 bytes = t.elem_bytes;
    a.out_group_bytes = stride_of(p.out, 0) * bytes;
    a.wei_group_bytes = stride_of(p.wei, 0) * bytes;
    a.wei_k_bytes = stride_of(p.wei, 1) * bytes;
    a.wei_c_bytes = static_cast<int32>(stride_of(p.wei, kChannels) * bytes);
    a.in.group = stride_of(p.in, 0);
    a.in.channel = position_stride(stride_of(p.in, 2));
    a.out_k_bytes = position_stride(stride_of(p.out, 2) * bytes);
    if(!pointwise || !Pointwise::joins_images(t.order, p.ndim)) {
        a.out_image_bytes = stride_of(p.out, 1) * bytes;
        a.in.image = stride_of(p.in, 1);
    }
    if(pointwise) {
        a.out_stride_bytes[0] = Pointwise(p.out, p.out.lengths, p.ndim, t.order).stride * bytes;
        a.in.position[0] = position_stride(Pointwise(p.in, p.in.lengths, p.ndim, t.order).stride);
        return;
    }
    for(int d = 0; d < p.ndim; ++d) {
        a.out_stride_bytes[d] = stride_of(p.out, 3 + d) * bytes;
        a.wei_stride_bytes[d] = stride_of(p.wei, 3 + d) * bytes;
    }
    set_input_strides(a, p.in, p.ndim);
    if(t.row_vector > 1)
        a.out_stride_bytes[p.ndim - 1] = bytes;  // also in a row of length 1
}

int resolve_split_k(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int ndim, int compute_units) {
    const int64 taps = most_taps(a, ndim);
    const int64 k_tiles = a.tile_taps > 1 ? divide_up(taps, a.tile_taps) : taps * a.k_chunks;
    const int64 least = std::min(sums_of(t.truncates, taps * a.k), k_tiles);
    if(p.split_k > 0)
        return static_cast<int>(std::max<int64>(p.split_k, least));
    int64 tiles = int64{a.m_tiles} * a.n_tiles;
    if(!t.splits_to_fill || !multiply(tiles, a.groups) || !multiply(tiles, a.sub_gemms))
        return static_cast<int>(least);
    return static_cast<int>(std::max(least, fill_twice(tiles, k_tiles, t.tiles_per_half, compute_units)));
}

constexpr int64 kMaxWorkspace = int64{1} << 46;

// Sets blocks_with_taps.
std::string set_blocks(BwdDataArgs& a, const BwdDataTraits& t) {
    int64 tapped = int64{a.m_tiles} * a.n_tiles;
    const bool fits = multiply(tapped, a.groups) && multiply(tapped, a.sub_gemms) && multiply(tapped, a.split_k);
    a.blocks_with_taps = static_cast<uint32>(fits && tapped < kMaxBlocks ? tapped : 0);
    if(!fits || tapped >= kMaxBlocks || grid_size(a) > kMaxBlocks / t.launch_threads)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    return {};
}

// Plans a kernel in which each workgroup has one split of a tile and a second kernel adds partials.
std::string plan_split(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, int ndim, int compute_units) {
    BwdDataArgs& a = plan.args;
    plan.split_k = a.split_k = resolve_split_k(t, a, p, ndim, compute_units);
    if(a.split_k > 1)
        a.tiles_without_taps = 0;  // the reduction writes them
    const std::string reason = set_blocks(a, t);
    if(!reason.empty() || a.split_k == 1)
        return reason;
    int64 bytes = int64{4} * a.split_k;
    bool small = multiply(bytes, p.groups()) && multiply(bytes, p.images()) && multiply(bytes, p.in_channels());
    for(int d = 0; d < p.ndim; ++d)
        small = small && multiply(bytes, p.in.lengths[3 + d]);
    if(small && bytes / (int64{4} * a.split_k) > kMaxBlocks)
        return refuse("grid-size", "the kernel that adds partials would hold more than 2^32 threads");
    if(!small || bytes > kMaxWorkspace)
        return refuse("workspace-size", "split_k " + number(a.split_k) + " needs more than 2^46 bytes");
    plan.workspace.partial_bytes = bytes;
    set_partial_strides(a, ndim, channels_last(t.order.in, p.ndim));
    return {};
}

// Plans a persistent kernel, whose workgroups take units in turn.
std::string plan_units(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, int compute_units) {
    BwdDataArgs& a = plan.args;
    a.split_k = 1;
    std::string reason = set_blocks(a, t);
    if(reason.empty())
        reason = check_tensor_maps(t, p, a);
    if(!reason.empty())
        return reason;
    const int workgroups = compute_units * t.resident;
    plan.split_k = persistent_split_k(t, a, p, workgroups);
    plan.units = units_of(t, a, plan.split_k, workgroups);
    plan.units.row_overlap = plan.columns.row_overlap;
    const TileSchedule& schedule = plan.units.schedule;
    if(int64{schedule.stream_k_tiles} * schedule.splits > kMostRows)
        return refuse("workspace-size", "split_k " + number(plan.split_k) + " makes too many units of work");
    const bool pieces = most_taps(a, t.kernel_ndim()) * a.k_chunks > plan.units.k_tiles_per_chunk;
    plan.workspace.partial_bytes = partial_slots(schedule, pieces, workgroups * t.consumers) * t.m_per_block *
                                   t.n_per_block * int64{sizeof(float)};
    return {};
}

// Plans every family but halo.
std::string plan_tiles(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, int ndim, int compute_units) {
    set_k_tiles(plan.args, t, p);
    std::string reason = set_sizes(plan.args, t, ndim, plan.columns.row_overlap);
    if(reason.empty())
        reason = t.persistent ? plan_units(plan, t, p, compute_units) : plan_split(plan, t, p, ndim, compute_units);
    if(reason.empty() && t.transposes_weight && !t.sums_columns)
        plan.weight_copy = weight_transposition_args(p, t.elem_bytes, t.weight_parts);
    if(reason.empty() && plan.weight_copy.rows > 0)
        reason = place_copy(plan.workspace, plan.weight_copy);
    return reason.empty() && needs_repack(t, p) ? plan_repack(plan, t, p) : reason;
}

}  // namespace

BwdDataPlan make_plan(const BwdDataTraits& t, const Problem& problem, const Fusion& given, const Addresses& at,
                      int compute_units) {
    BwdDataPlan plan;
    Problem own = with_unit_strides(problem, t.order);
    const bool pointwise = t.conv_spec == ConvSpec::Filter1x1Stride1Pad0;
    plan.reason = problem_reason(t, own, given, at);
    if(!plan.reason.empty())
        return plan;
    if(copies_weight(t, own)) {
        plan.weight_copy =
            weight_copy_args(own, t.elem_bytes, copied_vector(t, own), channels_last(t.order.wei, own.ndim));
        own = with_copied_weight(own, plan.weight_copy);
    }
    const Tensor written = own.in;
    if(t.sums_columns)
        plan.reason = plan_columns(plan, t, own);
    if(!plan.reason.empty())
        return plan;
    const auto [p, fusion] = with_merged_groups(t, own, given);
    plan.reason = set_lengths(plan.args, t, p, pointwise);
    if(!plan.reason.empty())
        return plan;
    set_strides(plan.args, t, p, pointwise);
    if(t.sums_columns)
        set_input_strides(plan.args, written, p.ndim);
    if(t.groups_to_merge > 1)
        plan.args.merged = merged_input_groups(own, p);
    plan.reason = t.plan_family != nullptr ? t.plan_family(plan, t, p, fusion, at, compute_units)
                                           : plan_tiles(plan, t, p, t.kernel_ndim(), compute_units);
    if(!plan.reason.empty())
        return plan;
    for(std::size_t i = 0; i < t.d.size(); ++i)
        plan.d.push_back(d_tensor(t, t.d[i], p, fusion.d[i]));
    return plan;
}

int64 grid_size(const BwdDataArgs& a) {
    return a.blocks_with_taps + int64{a.tiles_without_taps} * a.n_tiles * a.groups;
}

}  // namespace ckgen::conv
