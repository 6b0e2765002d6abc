// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_halo.hpp. Do not edit; run: ckgen generate
// Family halo of grouped convolution backward weight (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight_halo_boxes.hpp"
#include "ckgen/pipeline/halo/halo.hpp"
#if !CKGEN_PLATFORM_HOST
#include "ckgen/pipeline/halo/halo_wgmma.hpp"
#endif

namespace ckgen::pipeline {

#if CKGEN_PLATFORM_HOST
// The host does not emulate wgmma on overlapping blocks of columns: there the instance has a plan, but no kernel.
template <class D>
struct HaloWgmmaArgs {
    typename D::KernelArgs problem;
};
template <class D>
struct HaloWgmmaKernel {
    using Args = HaloWgmmaArgs<D>;
    static constexpr bool gpu_only = true;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
};
#endif

// The kernel of an instance by its matrix atom. A wgmma atom has 64 rows.
template <class D, bool ByWarpgroup = D::m_per_xdl == 64>
struct HaloKernelOf {
    using Kernel = HaloKernel<D>;
};
template <class D>
struct HaloKernelOf<D, true> {
    using Kernel = HaloWgmmaKernel<D>;
};
template <class D>
using AnyHaloKernel = typename HaloKernelOf<D>::Kernel;

}  // namespace ckgen::pipeline

namespace ckgen::instances {

struct BwdWeightHalo : HaloBoxes {
    template <class Config>
    using Checked = CheckedBwdWeightHalo<Config>;
    template <class D>
    using Kernel = pipeline::AnyHaloKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Halo";

    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = HaloBoxes::traits<D>();
        traits.groups_per_block = D::groups_per_block;
        traits.halo = {D::k_per_block, D::out_pitch, D::stages, D::lds_bytes};
        if constexpr(D::m_per_xdl == 64) {
            traits.halo.strips = true;
            traits.halo.buffers = D::m_per_block < 64;
        }
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdWeightPlan&) {
        typename Kernel::Args args{};
        args.problem = p;
        describe<Kernel>(p, args);
        return args;
    }

private:
    template <class Kernel, class D>
    static void describe(const conv::BwdWeightArgs& p, pipeline::HaloArgs<D>& args) {
        using T = typename Kernel::T;
        args.rings = conv::halo_geometry(Kernel::limits.shape(p), Kernel::limits);
        args.in = platform::box_map<T>(p.in, in_box<T>(p, Kernel::in_channels, args.rings.plane, args.rings.rows));
        args.out = platform::box_map<T>(p.out, out_box<T>(p, Kernel::out_channels, args.rings.plane, args.rings.rows));
    }

#if CKGEN_PLATFORM_HOST
    template <class Kernel, class D>
    static void describe(const conv::BwdWeightArgs&, pipeline::HaloWgmmaArgs<D>&) {}
#else
    template <class Kernel, class D>
    static void describe(const conv::BwdWeightArgs& p, pipeline::HaloWgmmaArgs<D>& args) {
        using T = typename Kernel::T;
        args.strips = conv::halo_strips(conv::strip_shape(p, Kernel::limits), Kernel::limits);
        const int plane = args.strips.plane;
        const int out_rows = args.strips.rows + (conv::kHaloTaps - 1) * p.dilation[0];
        args.in = platform::box_map<T>(p.in, in_box<T>(p, Kernel::in_channels, plane, args.strips.rows));
        if(args.strips.buffer_bytes > 0)
            return;
        args.out = platform::box_map<T>(p.out, out_box<T>(p, Kernel::out_channels, plane, out_rows));
        if constexpr(Kernel::rest_channels > 0)
            args.rest = platform::box_map<T>(p.out, out_box<T>(p, Kernel::rest_channels, plane, out_rows));
    }
#endif
#endif
};

}  // namespace ckgen::instances
