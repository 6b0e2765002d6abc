// Copied by ckgen from templates/src/plan/bwd_data_streaming.cpp. Do not edit; run: ckgen generate
// Planning of family streaming of backward data.
#include <algorithm>

#include "ckgen/plan/bwd_data_checks.hpp"

namespace ckgen::conv {
namespace {

// The kernel computes the places that a warp reads and writes at once in 32 bits, from the first one on.
std::string check_reach(const BwdDataArgs& a, const BwdDataTraits& t, bool channels_last) {
    const int64 positions = std::min(t.streaming.positions, a.positions);
    const int64 read =
        channels_last ? positions * a.out_stride_bytes[0] : int64{std::min(t.k_per_block, a.k)} * a.out_k_bytes;
    const int64 written =
        channels_last ? positions * a.in.position[0] : int64{std::min(t.n_per_block, a.n)} * a.in.channel;
    if(std::max(read, written * t.written_bytes) > kMostRows)
        return refuse("tile-reach", "what a warp reads or writes at once spans more than 2^31 bytes");
    return {};
}

}  // namespace

std::string plan_streaming(BwdDataPlan& plan, const BwdDataTraits& t, const Problem&, const Fusion&, const Addresses&,
                           int compute_units) {
    BwdDataArgs& a = plan.args;
    const bool last = channels_last(t.order.in, t.ndim);
    const int64 n_tiles = divide_up(a.n, t.n_per_block), weight_tiles = divide_up(a.k, t.k_per_block) * n_tiles;
    if(weight_tiles > t.streaming.weight_tiles)
        return refuse("weight-size", "a weight of " + number(a.k) + " by " + number(a.n) + " channels has " +
                                         number(weight_tiles) + " tiles; the instance has shared memory for " +
                                         number(t.streaming.weight_tiles));
    const std::string reason = check_reach(a, t, last);
    if(!reason.empty())
        return reason;
    StreamingWork& work = plan.streaming;
    const int64 tiles = divide_up(int64{a.images} * a.positions, t.streaming.positions);
    const int64 resident = std::max<int64>(1, int64{compute_units} * t.resident / a.groups);  // of a group
    const int64 workgroups = std::min(resident, divide_up(tiles * n_tiles, t.streaming.warps));
    if(workgroups * a.groups > kMostRows / t.launch_threads || tiles * n_tiles > kMostRows - kMostRows / 8)
        return refuse("grid-size", "the grid would hold more than 2^31 threads or units");
    work.vectors = last ? 1 : a.positions / t.a_vector;
    work.n_tiles = static_cast<int32>(n_tiles);
    work.units = static_cast<int32>(tiles * n_tiles);
    work.workgroups = static_cast<int32>(workgroups);
    work.by_vectors = Divider::by(work.vectors);
    work.by_n_tiles = Divider::by(work.n_tiles);
    work.by_workgroups = Divider::by(work.workgroups);
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(workgroups * a.groups);
    return {};
}

}  // namespace ckgen::conv
