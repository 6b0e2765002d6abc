// Copied by ckgen from templates/src/plan/bwd_data_tma.cpp. Do not edit; run: ckgen generate
// Planning of backward data: kernels that load tiles through tensor maps, and persistent kernels.
#include <algorithm>
#include <climits>
#include <numeric>

#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/tile_work.hpp"

namespace ckgen::conv {
namespace {

// TMA addresses multiples of 16 bytes.
bool aligned(int64 elements, const BwdDataTraits& t) { return elements * t.elem_bytes % 16 == 0; }

// Output channels that one wgmma multiplies.
int step_of(int elem_bytes) { return 32 / elem_bytes; }

// The walk of a sub-GEMM begins under its last tap; its other taps are at higher positions.
std::string check_walks(const Problem& p, const BwdDataArgs& a) {
    for(int d = 0; d < p.ndim; ++d)
        for(int first = 0; first < std::min(a.tilde[d], a.filter[d]); ++first) {
            const AxisClass seen = class_of_tap(a, d, first);
            const int64 reach = int64{a.shift[d]} * (seen.taps - 1);
            const int64 lower = seen.origin - reach;
            std::string reason = check_walk(p.ndim, d, lower, lower + seen.count - a.out_length[d], reach);
            if(seen.count > 0 && !reason.empty())
                return reason;
        }
    return {};
}

std::string check_rows(const BwdDataTraits& t, const Problem& p) {
    for(const Tensor* tensor : {&p.in, &p.out})
        if(Pointwise(*tensor, tensor->lengths, p.ndim, t.order).stride > 1)
            return refuse("tma-limits", "positions are not side by side");
    const int64 rows = 2 * t.k_per_block;  // more than those of a stage
    if(p.out.lengths[kChannels] > 1 && p.out.strides[kChannels] > INT_MAX / (rows * t.elem_bytes))
        return refuse("tma-limits", "channels are " + number(p.out.strides[kChannels]) + " elements apart, " +
                                        number(rows) + " of them more than 2^31 bytes");
    return check_planes(t, p.out);
}

}  // namespace

// Words are copied one by one. Of 16-bit types, a row begins anywhere in its first slot of 16 bytes. Where it still
// ends in the slot of its last positions, images follow each other slot by slot, and a block of 64 rows reaches into at
// most one more image; else each begins a block.
int32 shifted_rows(const Problem& p, int elem_bytes) {
    if(elem_bytes == 4)
        return static_cast<int32>(p.out_positions());
    const int slot = 16 / elem_bytes;
    int64 aligned = slot;  // rows begin at multiples of as many elements
    for(int index = 0; index < 3; ++index)
        if(p.out.lengths[index] > 1)
            aligned = std::gcd(aligned, p.out.strides[index]);
    const int64 positions = p.out_positions();
    const bool ends_in_slot = (positions - 1) % slot + 1 <= aligned;
    const int64 unit = ends_in_slot && positions > 48 ? slot : 64;
    return static_cast<int32>(divide_up(positions, unit) * unit);
}

int copied_rows(const BwdDataTraits& t, const Problem& p) {
    const int step = step_of(t.elem_bytes);
    const int64 channels = p.out_channels();
    if(p.groups() == 1 || t.copies_planes())  // zeros follow the last channel
        return static_cast<int>(divide_up(channels, divide_up(channels, t.k_per_block) * step)) * step;
    int rows = t.k_per_block;
    while(rows > step && channels % rows != 0)
        rows -= step;
    return rows;
}

std::string check_tensor_maps(const BwdDataTraits& t, const Problem& p, const BwdDataArgs& a) {
    if(a.sub_gemms > kMostSubGemms)
        return refuse("sub-gemms", "strides and filter make " + number(a.sub_gemms) + " sub-GEMMs, more than the " +
                                       number(kMostSubGemms) + " tensor maps of a kernel");
    if(t.copies_planes())
        return t.any_planes ? check_rows(t, p) : check_planes(t, p.out);
    if(const int step = step_of(t.elem_bytes); p.groups() > 1 && p.out_channels() % step != 0)
        return refuse("tma-limits", "K " + number(p.out_channels()) + " of several groups is not a multiple of " +
                                        number(step) + ", the channels that are multiplied at once");
    if(!t.transposes_weight && !t.sums_columns && !copies_weight(t, p) && !aligned(p.taps() * p.in_channels(), t))
        return refuse("tma-limits", "the taps of an output channel are not a multiple of 16 bytes");
    if(p.taps() * p.in_channels() > kMostRows)
        return refuse("tma-limits", "C * taps = " + number(p.in_channels() * p.taps()) + " does not fit 31 bits");
    if((p.groups() - 1) * p.out.strides[0] + p.out_channels() > kMostRows)
        return refuse("tma-limits", kFarGroups);
    if(a.wei_group_bytes >= int64{1} << 40 || a.out_image_bytes >= int64{1} << 40)
        return refuse("tma-limits", "groups of the weight or images are 2^40 or more bytes apart");
    if(needs_repack(t, p) && !Pointwise(p.out, p.out.lengths, p.ndim, t.order).possible)
        return refuse("tma-limits", "positions of the output are not multiples of 16 bytes apart and not packed");
    return check_walks(p, a);
}

bool needs_repack(const BwdDataTraits& t, const Problem& p) {
    bool addressed = true;
    for(int index = 0; index < 3 + p.ndim; ++index)
        addressed = addressed && (index == 2 || p.out.lengths[index] == 1 || aligned(p.out.strides[index], t));
    return t.tma && !t.copies_planes() && !addressed;
}

std::string plan_repack(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p) {
    BwdDataArgs& a = plan.args;
    const RepackArgs copy = plan.copy = repack_args(p, TensorName::out, t.elem_bytes, 1.);
    int64 bytes = copy.group_bytes();
    a.out_group_bytes = bytes;
    bytes *= copy.groups;
    for(int d = p.ndim - 1; d >= 0; --d) {
        a.out_stride_bytes[d] = bytes;
        bytes *= p.out.lengths[3 + d];
    }
    a.out_image_bytes = bytes;
    return place_copy(plan.workspace, TensorName::out, copy);
}

namespace {

TileWork work_of(const BwdDataTraits& t, const BwdDataArgs& a, int ndim) {
    return {a.blocks_with_taps, most_taps(a, ndim) * a.k_chunks, t.m_per_block, t.n_per_block, t.k_per_block};
}

// True if all tiles have the same number of taps. Otherwise the tiles with fewer taps fill the last round.
bool alike(const BwdDataArgs& a) { return a.sub_gemms == 1 && a.tiles_without_taps == 0; }

// The sub-GEMM with index `number`.
SubGemm sub_gemm_of(const BwdDataArgs& a, int number, int ndim) {
    SubGemm seen{};
    seen.rows = a.images;
    seen.all_taps = 1;
    for(int d = ndim - 1; d >= 0; --d) {
        const int classes = std::min(a.tilde[d], a.filter[d]);
        seen.first[d] = number % classes;
        number /= classes;
        const AxisClass one = class_of_tap(a, d, seen.first[d]);
        seen.start[d] = one.start;
        seen.count[d] = one.count;
        seen.origin[d] = one.origin;
        seen.taps[d] = one.taps;
        seen.by[d] = Divider::by(std::max(1, one.count));
        seen.rows *= one.count;
        seen.all_taps *= one.taps;
    }
    return seen;
}

}  // namespace

int persistent_split_k(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int compute_units) {
    if(t.sums_columns)
        return 1;
    const TileWork work = work_of(t, a, t.kernel_ndim());
    // The stationary part of the weight must fit LDS.
    const int64 least = t.weight_rows > 0 ? divide_up(work.k_tiles, t.weight_rows / a.tap_rows) : 1;
    const int64 wanted = p.split_k > 0 ? p.split_k : alike(a) ? split_to_fill(work, compute_units) : 1;
    return static_cast<int>(std::max(least, std::min(wanted, work.k_tiles)));
}

BwdDataUnits units_of(const BwdDataTraits& t, const BwdDataArgs& a, int split_k, int compute_units) {
    BwdDataUnits units{};
    const TileWork work = work_of(t, a, t.kernel_ndim());
    const auto tapped = static_cast<int32>(a.blocks_with_taps);
    units.tiles = static_cast<int32>(grid_size(a));
    units.sub_gemm_count = units.tiles / (a.m_tiles * a.n_tiles * a.groups);
    units.all_sub_gemms = Divider::by(units.sub_gemm_count);
    if(t.weight_rows > 0) {  // neighbouring units share a weight, so no last round is split
        units.schedule = split_k > 1 ? TileSchedule{0, units.tiles, split_k} : TileSchedule{units.tiles, 0, 1};
    } else if(split_k > 1) {
        units.schedule = {units.tiles - tapped, tapped, split_k};
        units.first = units.tiles > tapped ? tapped : 0;
    } else {
        units.schedule =
            alike(a) && !t.sums_columns ? share_tiles(work, 1, compute_units) : TileSchedule{units.tiles, 0, 1};
    }
    units.n_tiles = Divider::by(a.n_tiles);
    units.groups = Divider::by(a.groups);
    units.m_tiles = Divider::by(a.m_tiles);
    for(int number = 0; number < a.sub_gemms; ++number)
        units.sub_gemms[number] = sub_gemm_of(a, number, t.kernel_ndim());
    const int64 sums = sums_of(t.truncates, most_taps(a, t.kernel_ndim()) * a.k);
    units.k_tiles_per_chunk = static_cast<int32>(divide_up(divide_up(work.k_tiles, split_k), divide_up(sums, split_k)));
    return units;
}

}  // namespace ckgen::conv
