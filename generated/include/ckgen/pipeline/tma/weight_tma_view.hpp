// Copied by ckgen from templates/include/ckgen/pipeline/tma/weight_tma_view.hpp. Do not edit; run: ckgen generate
// The part of a View (pipeline/tma/tma_roles.hpp) that the wgmma kernels of backward weight have in common.
#pragma once

#include "ckgen/epilogue/wgmma_store.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::pipeline {

// KernelArgs: has the planned arguments as `problem`. Epilogue: stores what Map describes.
template <class D, class KernelArgs, class Epilogue = epilogue::WgmmaStore<D>, class Map = atom::WgmmaAccumulator>
struct WeightTmaView {
    static constexpr bool plans_ahead = true;
    static constexpr bool shares_tiles = true;
    static constexpr bool a_in_registers = false;
    static constexpr bool has_products = false;
    using Accumulator = Map;
    using Args = KernelArgs;
    using Tile = conv::BwdWeightTile;
    static CKGEN_HD const conv::TileSchedule& schedule(const Args& args) { return args.problem.schedule; }
    static CKGEN_DEVICE float* partials(const Args& args) { return args.problem.partial; }
    static CKGEN_DEVICE int chunk(const Args& args) { return args.problem.k_tiles_per_chunk; }
    static CKGEN_DEVICE Tile unit(const Args& args, int number) { return Tile::of_unit<D>(args.problem, number); }
    static CKGEN_DEVICE Tile tile(const Args& args, int number) {
        return Tile::of_block<D>(args.problem, static_cast<uint32>(number));
    }
    static CKGEN_DEVICE bool has_row(const Args& args, const Tile& tile, int row) {
        return tile.m_first + row < args.problem.m;
    }

    struct Store : Epilogue {
        CKGEN_DEVICE Store(const platform::Thread& thread, const Args& args, const Tile& tile, int id)
            : Epilogue(thread, args.problem, tile, id) {}
        static CKGEN_DEVICE void prefetch(const Args&, const Tile&, int) {}
    };
};

}  // namespace ckgen::pipeline
