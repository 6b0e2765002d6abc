// Family depthwise_tma of grouped convolution backward data (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/bwd_data_boxes.hpp"
#include "ckgen/op/impl/tma_family.hpp"
#include "ckgen/pipeline/bwd_data_depthwise_tma.hpp"

namespace ckgen::instances {

struct BwdDataDepthwiseTma : TmaFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataDepthwiseTma<Config>;
    template <class D>
    using Kernel = pipeline::DepthwiseTmaBwdDataKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_DepthwiseTma";

    // Vectors run across the groups, so that the checks of channels are those of single elements.
    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = TmaFamily::traits<D>();
        traits.depthwise.vector = D::a_vector;
        traits.a_vector = traits.b_vector = traits.c_vector = 1;
        traits.boxes = Kernel<D>::limits;
        traits.plan_family = &conv::plan_depthwise_boxes;
        return traits;
    }

    template <class Kernel>
    static typename Kernel::Args arguments(uint32, const typename Kernel::Problem& p, const conv::BwdDataPlan& plan) {
        typename Kernel::Args args{};
        args.problem = p;
        args.boxes = plan.boxes;
        args.out = platform::box_map<typename Kernel::T>(p.out, box_of(p, plan.boxes, Kernel::limits.channels));
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32 blocks, const typename Kernel::Args&) {
        return blocks;
    }

private:
    static platform::BoxMap box_of(const conv::BwdDataArgs& p, const conv::DepthwiseBoxes& boxes, int channels) {
        platform::BoxMap box = boxes_of_output(p);
        box.box_channels = channels;
        box.box_columns = boxes.box_columns;
        box.box_rows = boxes.box_rows;
        box.box_images = boxes.images;
        box.plain = true;
        return box;
    }
#endif
};

}  // namespace ckgen::instances
