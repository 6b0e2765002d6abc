// Distribution of the tiles of persistent kernels over workgroups.
#include "ckgen/plan/tile_work.hpp"

#include <algorithm>
#include <climits>

#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::conv {
namespace {

constexpr int64 kMostSplits = 128;
constexpr int64 kMostStreamKSplits = 8;

double units_ns(const TileWork& work, int64 rounds, int64 k_tiles) {
    const double blocks =
        static_cast<double>(int64{work.m_per_block} * work.n_per_block * work.k_per_block) / (64 * 64 * 64);
    return static_cast<double>(rounds) * (static_cast<double>(k_tiles) * (40. + 75. * blocks) + 700. + 220. * blocks);
}

double split_ns(const TileWork& work, int64 tiles, int64 units, int64 split) {
    const double main = units_ns(work, divide_up(tiles * split, units), divide_up(work.k_tiles, split));
    const double partials = static_cast<double>(tiles * split) * work.m_per_block * work.n_per_block * 4.;
    return split > 1 ? main + 2500. + partials / 3200. : main;
}

// Splits per stream-K tile, for the `tiles` of the last round.
int64 stream_k_splits(const TileWork& work, int64 tiles, int64 units) {
    int64 best = 1;
    for(int64 split = 2; split <= std::min(work.k_tiles, kMostStreamKSplits); ++split)
        if(split_ns(work, tiles, units, split) < split_ns(work, tiles, units, best))
            best = split;
    return divide_up(work.k_tiles, divide_up(work.k_tiles, best));  // no split without a tile
}

double persistent_ns(const TileWork& work, int64 units, int64 split_k) {
    const int64 rest = work.tiles % units;
    if(split_k > 1 || work.tiles < units || rest == 0)
        return split_ns(work, work.tiles, units, split_k);
    return units_ns(work, work.tiles / units, work.k_tiles) +
           split_ns(work, rest, units, stream_k_splits(work, rest, units));
}

}  // namespace

int64 split_to_fill(const TileWork& work, int64 compute_units) {
    if(work.tiles >= compute_units * 32)  // so many rounds that the idle part of the last is negligible
        return 1;
    int64 best = 1;
    double shortest = persistent_ns(work, compute_units, 1);
    for(int64 split_k = 2; split_k <= std::min(work.k_tiles, kMostSplits); ++split_k) {
        const double ns = persistent_ns(work, compute_units, split_k);
        if(ns < shortest) {
            shortest = ns;
            best = split_k;
        }
    }
    return divide_up(work.k_tiles, divide_up(work.k_tiles, best));  // no split without a tile
}

TileSchedule share_tiles(const TileWork& work, int split_k, int compute_units) {
    const auto tiles = static_cast<int32>(std::min<int64>(work.tiles, INT_MAX));  // a grid of more is refused
    if(split_k > 1)
        return {0, tiles, split_k};
    const int32 rest = tiles % compute_units;
    if(tiles < compute_units || rest == 0)
        return {tiles, 0, 1};
    const auto split = static_cast<int32>(stream_k_splits(work, rest, compute_units));
    return split > 1 ? TileSchedule{tiles - rest, rest, split} : TileSchedule{tiles, 0, 1};
}

}  // namespace ckgen::conv
