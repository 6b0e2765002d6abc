// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_warp_split.hpp. Do not edit; run: ckgen generate
// Family warp_split of grouped convolution backward weight.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/warp_split.hpp"

namespace ckgen::instances {

struct BwdWeightWarpSplit : WarpMmaFamily<BwdWeightFamily> {
    template <class Config>
    using Checked = CheckedBwdWeightWarpSplit<Config>;
    template <class D>
    using Kernel = pipeline::WarpSplitKernel<D, pipeline::WarpSplitBwdWeight<D>>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_WarpSplit";

    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = WarpMmaFamily::traits<D>();
        traits.splits_to_fill = (D::a_k_major && D::b_k_major) || pipeline::kGathersTaps<D>;  // many positions
        return traits;
    }
#endif
};

}  // namespace ckgen::instances
