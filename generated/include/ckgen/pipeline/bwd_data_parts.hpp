// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_parts.hpp. Do not edit; run: ckgen generate
// The parts with which the xdl and wavelet pipelines compute backward data.
#pragma once

#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/load/bwd_data_loader.hpp"

namespace ckgen::conv {

template <class D>
struct BwdDataParts {
    using Args = typename D::KernelArgs;
    using Tile = BwdDataTile<D::kernel_ndim>;
    using Loader = BwdDataLoader<D>;
    template <class Shape>
    using Store = epilogue::BwdDataStore<D, Shape>;

    // Clang keeps quotients in vector registers, though they are uniform. The number of tiles is better left to it.
    static CKGEN_DEVICE Tile tile(const platform::Thread& thread, const Args& args) {
        Tile tile = Tile::template of_block<D>(args, thread.block_id());
        tile.k_tile_first = thread.uniform(tile.k_tile_first);
        CKGEN_UNROLL
        for(int d = 0; d < D::kernel_ndim; ++d)
            tile.taps[d] = thread.uniform(tile.taps[d]);
        return tile;
    }
    static CKGEN_DEVICE bool without_product(const platform::Thread& thread, const Args& args, const Tile& tile) {
        return epilogue::fill<D>(thread, args, tile);
    }
};

}  // namespace ckgen::conv
