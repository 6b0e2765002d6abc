// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_streaming.hpp. Do not edit; run: ckgen generate
// Family streaming of grouped convolution backward data.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/pipeline/bwd_data_streaming.hpp"

namespace ckgen::instances {

struct BwdDataStreaming : BwdDataFamily {
    template <class Config>
    using Checked = CheckedBwdDataStreaming<Config>;
    template <class D>
    using Kernel = pipeline::StreamingBwdDataKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr bool tensor_maps = false;
    static constexpr const char* type_suffix = "_Streaming";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = BwdDataFamily::traits<D>();
        traits.streaming = Kernel<D>::limits;
        traits.resident = Kernel<D>::resident;
        traits.plan_family = &conv::plan_streaming;
        return traits;
    }

    // Those of CK's numbers that apply.
    template <class D>
    struct TypeNumbers {
        static constexpr int ak1 = D::a_vector, bk1 = D::b_vector;
        static constexpr int m_xdl_per_wave = 1, n_xdl_per_wave = 1;
        static constexpr int a_dst_vector = 1, b_dst_vector = 1;
    };

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdDataPlan& plan) {
        return {p, plan.streaming};
    }
    template <class Kernel, class Args>
    static uint32 workgroups(uint32 blocks, const Args&) {
        return blocks;
    }
#endif
};

}  // namespace ckgen::instances
