// Family depthwise of grouped convolution backward weight.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/depthwise_family.hpp"
#include "ckgen/pipeline/bwd_weight_depthwise.hpp"

namespace ckgen::instances {

struct BwdWeightDepthwise : DepthwiseFamily<BwdWeightFamily> {
    template <class Config>
    using Checked = CheckedBwdWeightDepthwise<Config>;
    template <class D>
    using Kernel = pipeline::DepthwiseBwdWeightKernel<D>;

#if !CKGEN_DEVICE_PASS
    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdWeightPlan& plan) {
        return {p, plan.depthwise};
    }
#endif
};

}  // namespace ckgen::instances
