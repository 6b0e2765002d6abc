// Family streaming of grouped convolution backward data.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_data_streaming.hpp"

namespace ckgen::instances {

struct BwdDataStreaming : WarpMmaFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataStreaming<Config>;
    template <class D>
    using Kernel = pipeline::StreamingBwdDataKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Streaming";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = WarpMmaFamily::traits<D>();
        traits.streaming = Kernel<D>::limits;
        traits.resident = Kernel<D>::resident;
        traits.plan_family = &conv::plan_streaming;
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdDataPlan& plan) {
        return {p, plan.streaming};
    }
#endif
};

}  // namespace ckgen::instances
