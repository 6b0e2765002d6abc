// Family depthwise_tma of grouped convolution backward weight (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight_halo_boxes.hpp"
#include "ckgen/pipeline/bwd_weight_depthwise_tma.hpp"

namespace ckgen::instances {

struct BwdWeightDepthwiseTma : HaloBoxes {
    template <class Config>
    using Checked = CheckedBwdWeightDepthwiseTma<Config>;
    template <class D>
    using Kernel = pipeline::DepthwiseTmaKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_DepthwiseTma";

    // Vectors run across the groups, so that the checks of channels are those of single elements.
    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = HaloBoxes::traits<D>();
        traits.a_vector = traits.b_vector = traits.c_vector = 1;
        traits.groups_per_block = D::n_per_block;
        traits.halo = Kernel<D>::limits;
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdWeightPlan&) {
        using T = typename Kernel::T;
        typename Kernel::Args args{};
        args.problem = p;
        args.rings = conv::halo_geometry(Kernel::limits.shape(p), Kernel::limits);
        platform::BoxMap in = in_box<T>(p, Kernel::groups, args.rings.plane, args.rings.rows);
        platform::BoxMap out = out_box<T>(p, Kernel::groups, args.rings.plane, args.rings.rows);
        in.plain = out.plain = true;
        args.in = platform::box_map<T>(p.in, in);
        args.out = platform::box_map<T>(p.out, out);
        args.rows = pipeline::DepthwisePieces(p);
        return args;
    }
#endif
};

}  // namespace ckgen::instances
