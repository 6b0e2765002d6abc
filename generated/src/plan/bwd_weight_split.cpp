// Copied by ckgen from templates/src/plan/bwd_weight_split.cpp. Do not edit; run: ckgen generate
// Splits of GEMM-K in backward weight, and the workspace of a run.
#include <algorithm>

#include "ckgen/plan/bwd_weight_plan.hpp"
#include "ckgen/plan/tile_work.hpp"

namespace ckgen::conv {
namespace {

struct Work {
    int64 tiles;    // of the weight, over all groups
    int64 k_tiles;  // of GEMM-K
};

Work work_of(const BwdWeightTraits& t, const Problem& problem) {
    const Problem p = with_merged_groups(t, problem);
    if(t.is_halo())
        return {divide_up(p.out_channels(), t.m_per_block) * divide_up(p.in_channels(), t.n_per_block) *
                    divide_up(problem.groups(), t.groups_per_block),
                halo_steps(t, p)};
    // Lengths are below 2^31, so only the last product may exceed 64 bits; with that many tiles no split is needed.
    const int64 n_tiles = divide_up(tap_columns(t, p) * p.taps(), t.n_per_block);
    int64 tiles = 0;
    if(__builtin_mul_overflow(m_tiles(t, p) * n_tiles, p.groups(), &tiles))
        tiles = int64{1} << 62;
    return {tiles, divide_up(rows_of_k(t, p), t.k_per_block)};
}

TileWork tile_work(const BwdWeightTraits& t, const Work& work) {
    return {work.tiles, work.k_tiles, t.m_per_block, t.n_per_block, t.k_per_block};
}

int64 buffered_bytes(const BwdWeightTraits& t, const Problem& p) {
    return buffered_bytes(t.halo.strip_limits(), p.groups(), p.out_channels(),
                          p.out.position_stride(p.ndim) * t.elem_bytes);
}

}  // namespace

int64 tap_columns(const BwdWeightTraits& t, const Problem& p) {
    const int64 box = t.n_per_block * t.elem_bytes % 128 == 0 ? 128 / t.elem_bytes : t.n_per_block;
    return t.persistent && p.taps() > 1 ? divide_up(p.in_channels(), box) * box : p.in_channels();
}

int64 m_tiles(const BwdWeightTraits& t, const Problem& p) {
    return divide_up(p.out_channels(), int64{t.m_per_block} * t.cluster) * t.cluster;
}

int64 rows_of_k(const BwdWeightTraits& t, const Problem& p) {
    return t.copies_planes() && !t.any_planes ? p.images() * divide_up(p.out_positions(), t.k_per_block) * t.k_per_block
                                              : p.gemm_k();
}

int resolve_split_k(const BwdWeightTraits& t, const Problem& p, int compute_units) {
    const Work work = work_of(t, p);
    const bool one_sum = !t.persistent;  // persistent kernels cut a split into several sums where one is too long
    if(p.split_k > 0)
        return static_cast<int>(one_sum ? std::max<int64>(p.split_k, std::min(sums(t, p), work.k_tiles)) : p.split_k);
    if(t.is_halo())
        return static_cast<int>(std::clamp<int64>(std::max(compute_units / work.tiles, sums(t, p)), 1, work.k_tiles));
    if(t.persistent)
        return static_cast<int>(split_to_fill(tile_work(t, work), compute_units));
    // Workgroups of merged groups have few waves: eight waves per unit need more of them.
    const int units = compute_units * (t.groups_to_merge > 1 ? std::max(1, 256 / t.launch_threads) : 1);
    const int64 wanted = t.splits_to_fill ? fill_twice(work.tiles, work.k_tiles, t.tiles_per_half, units) : 1;
    return static_cast<int>(std::max(wanted, std::min(sums(t, p), work.k_tiles)));
}

TileSchedule tile_schedule(const BwdWeightTraits& t, const Problem& p, int split_k, int compute_units) {
    if(!t.persistent)
        return {};
    // All workgroups of a cluster have units of the same kind.
    return share_tiles(tile_work(t, work_of(t, p)), split_k, compute_units / t.cluster * t.cluster);
}

int64 halo_steps(const BwdWeightTraits& t, const Problem& p) {
    const auto length = [](int64 value) { return static_cast<int>(value); };
    if(t.halo.strips) {
        const StripShape shape{length(p.in.lengths[3]),    length(p.in.lengths[4]),    length(p.out.lengths[4]),
                               length(2 * p.dilations[0]), length(2 * p.dilations[1]), length(p.left_pads[1]),
                               buffered_bytes(t, p)};
        return p.out.lengths[1] * halo_strips(shape, t.halo.strip_limits()).per_image;
    }
    int32 out[2], filter[2], stride[2], dilation[2];
    for(int d = 0; d < 2; ++d) {
        out[d] = length(p.out.lengths[3 + d]), filter[d] = length(p.wei.lengths[3 + d]);
        stride[d] = length(p.strides[d]), dilation[d] = length(p.dilations[d]);
    }
    const HaloGeometry rings = halo_geometry(t.halo.shape(out, filter, stride, dilation), t.halo);
    return rings.lds_bytes > 0 ? p.out.lengths[1] * rings.steps_per_image : 0;
}

int64 sums(const BwdWeightTraits& t, const Problem& p) { return sums_of(t.truncates, p.gemm_k()); }

int64 summed_tiles(const BwdWeightTraits& t, const Problem& p, int split_k) {
    const int64 tiles = divide_up(divide_up(rows_of_k(t, p), t.k_per_block), split_k);
    return divide_up(tiles, divide_up(sums(t, p), split_k));
}

bool needs_repack(const BwdWeightTraits& t, const Problem& p) {
    // Boxes begin at multiples of 16 bytes in the channels of all groups.
    const auto aligned = [&](int64 elements) { return elements * t.elem_bytes % 16 == 0; };
    const bool boxes =
        aligned(p.out.position_stride(p.ndim)) && (p.groups() == 1 || aligned(p.out.strides[0] * t.groups_per_block));
    return t.tma && !t.copies_planes() && !t.any_planes && !boxes && buffered_bytes(t, p) == 0;
}

int unaligned_input(const BwdWeightTraits& t, const Problem& p) {
    for(int index = 0; index < 3 + p.ndim; ++index) {
        const int64 boxes_apart = p.in.strides[index] * (index == 0 ? t.groups_per_block : 1);
        if(index != kChannels && p.in.lengths[index] > 1 && boxes_apart * t.elem_bytes % 16 != 0)
            return index;
    }
    return -1;
}

bool copies_input(const BwdWeightTraits& t, const Problem& p) { return t.copies_input && unaligned_input(t, p) >= 0; }

Problem with_copied_input(const BwdWeightTraits& t, const Problem& problem) {
    if(!copies_input(t, problem))
        return problem;
    Problem p = problem;
    const RepackArgs copy = repack_args(p, TensorName::in, t.elem_bytes, kMostPadding);
    p.in.strides[0] = copy.group_bytes() / t.elem_bytes;
    int64 step = p.groups() * p.in.strides[0];
    for(int index = 2 + p.ndim; index != kChannels; --index) {
        p.in.strides[index] = step;
        step *= p.in.lengths[index];
    }
    p.in.strides[1] = step;
    return p;
}

std::string place_copies(BwdWeightPlan& plan, const BwdWeightTraits& t, const Problem& p) {
    const auto place = [&](TensorName tensor, RepackArgs& copy) {
        copy = repack_args(p, tensor, t.elem_bytes, kMostPadding);
        return place_copy(plan.workspace, tensor, copy);
    };
    std::string too_large;
    if(needs_repack(t, p))
        too_large = place(TensorName::out, plan.copy);
    if(too_large.empty() && copies_input(t, p))
        too_large = place(TensorName::in, plan.in_copy);
    return too_large;
}

int64 partial_bytes(const BwdWeightTraits& t, const Problem& p, const BwdWeightArgs& args, int compute_units) {
    int64 bytes = sizeof(float);
    bool fits = true;
    if(t.persistent)
        fits = multiply(bytes, partial_slots(args.schedule, args.k_tiles > args.k_tiles_per_chunk,
                                             compute_units * t.consumers)) &&
               multiply(bytes, int64{t.m_per_block} * t.n_per_block);
    else if(args.split_k > 1)
        fits = multiply(bytes, p.wei_elements()) && multiply(bytes, args.split_k);
    else
        bytes = 0;
    return fits ? bytes : -1;
}

}  // namespace ckgen::conv
