// Copied by ckgen from templates/include/ckgen/conv/bwd_data_parts.hpp. Do not edit; run: ckgen generate
// What pipelines are given to compute backward data.
#pragma once

#include "ckgen/conv/bwd_data_loader.hpp"
#include "ckgen/epilogue/bwd_data_store.hpp"

namespace ckgen::conv {

template <class D>
struct BwdDataParts {
    using Args = typename D::KernelArgs;
    using Tile = BwdDataTile<D::kernel_ndim>;
    using Loader = BwdDataLoader<D>;
    template <class Shape>
    using Store = epilogue::BwdDataStore<D, Shape>;
};

}  // namespace ckgen::conv
