// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_warp_split.hpp. Do not edit; run: ckgen generate
// Family warp_split of grouped convolution backward weight.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/warp_split_family.hpp"

namespace ckgen::instances {

struct BwdWeightWarpSplit : WarpSplitFamily<BwdWeightFamily> {
    template <class Config>
    using Checked = CheckedBwdWeightWarpSplit<Config>;
    template <class D>
    using Kernel = pipeline::WarpSplitKernel<D, pipeline::WarpSplitBwdWeight<D>>;
};

}  // namespace ckgen::instances
