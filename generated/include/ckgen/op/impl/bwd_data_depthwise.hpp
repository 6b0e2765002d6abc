// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_depthwise.hpp. Do not edit; run: ckgen generate
// Family depthwise of grouped convolution backward data.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/depthwise_family.hpp"
#include "ckgen/pipeline/bwd_data_depthwise_sweep.hpp"

namespace ckgen::instances {

struct BwdDataDepthwise : DepthwiseFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataDepthwise<Config>;
    template <class D>
    using Kernel = typename pipeline::DepthwiseBwdData<D, (D::stages > 1)>::Kernel;

#if !CKGEN_DEVICE_PASS
    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = DepthwiseFamily::traits<D>();
        if constexpr(D::stages > 1)
            traits.resident = Kernel<D>::resident;
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdDataPlan& plan) {
        return {p, plan.strips};
    }
#endif
};

}  // namespace ckgen::instances
