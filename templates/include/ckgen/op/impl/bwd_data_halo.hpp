// Family halo of grouped convolution backward data (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/bwd_data_boxes.hpp"
#include "ckgen/op/impl/tma_family.hpp"
#include "ckgen/pipeline/halo/bwd_data_halo.hpp"

namespace ckgen::instances {

struct BwdDataHalo : TmaFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataHalo<Config>;
    template <class D>
    using Kernel = pipeline::HaloBwdDataKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Halo";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = TmaFamily::traits<D>();
        traits.halo = pipeline::HaloBwdDataShape<D>::limits;
        traits.plan_family = &conv::plan_halo;
        return traits;
    }

    template <class Kernel>
    static typename Kernel::Args arguments(uint32 blocks, const typename Kernel::Problem& p, const conv::BwdDataPlan&) {
        const conv::HaloCells cells = conv::halo_cells(p, Kernel::limits);
        typename Kernel::Args args{};
        args.problem = p;
        args.taps[0] = cells.taps[0];
        args.taps[1] = cells.taps[1];
        args.ring = cells.ring;
        args.windows = conv::halo_windows(p, sizeof(typename Kernel::T));
        args.steps = p.images * cells.ring.steps_per_image;
        args.shares = static_cast<int32>(blocks) / args.windows;
        args.plane_inverse = static_cast<uint32>((uint64{1} << 32) / static_cast<uint64>(cells.ring.plane) + 1);
        args.out = platform::box_map<typename Kernel::T>(p.out, rows_of(p, cells.ring, sizeof(typename Kernel::T)));
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32 blocks, const typename Kernel::Args&) {
        return blocks;
    }

private:
    // A step's rows with the channels of a workgroup.
    static platform::BoxMap rows_of(const conv::BwdDataArgs& p, const conv::HaloGeometry& ring, int elem_bytes) {
        platform::BoxMap box = boxes_of_output(p);
        box.box_channels = conv::kHaloPitch / elem_bytes;
        box.box_columns = ring.plane;
        box.box_rows = ring.rows;
        return box;
    }
#endif
};

}  // namespace ckgen::instances
