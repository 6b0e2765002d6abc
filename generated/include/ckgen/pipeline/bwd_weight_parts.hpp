// Copied by ckgen from templates/include/ckgen/pipeline/bwd_weight_parts.hpp. Do not edit; run: ckgen generate
// The parts with which the xdl and wavelet pipelines compute backward weight.
#pragma once

#include "ckgen/epilogue/bwd_weight_store.hpp"
#include "ckgen/load/bwd_weight_loader.hpp"

namespace ckgen::conv {

template <class D>
struct BwdWeightParts {
    using Args = typename D::KernelArgs;
    using Tile = BwdWeightTile;
    using Loader = BwdWeightLoader<D>;
    template <class Shape>
    using Store = epilogue::BwdWeightStore<D, Shape>;

    static CKGEN_DEVICE Tile tile(const platform::Thread& thread, const Args& args) {
        return Tile::template of_block<D>(args, thread.block_id());
    }
    static CKGEN_DEVICE bool without_product(const platform::Thread&, const Args&, const Tile&) { return false; }
};

}  // namespace ckgen::conv
