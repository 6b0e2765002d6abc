// Family halo of grouped convolution backward weight (sm_90a): what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_WEIGHT_HALO_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_WEIGHT_HALO_HPP

#include "ckgen/conv/layout.hpp"
#include "ckgen/device/impl/copy_engine_family.hpp"
#include "ckgen/instance/checked_halo.hpp"
#include "ckgen/pipeline/halo.hpp"

#if !CKGEN_DEVICE_PASS

namespace ckgen::tensor_operation::device {

// Makes the tensor maps that the kernel's copies go through.
struct HaloFamily {
    template <class D>
    static constexpr conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = copy_engine_traits<D>();
        traits.groups_per_block = D::groups_per_block;
        traits.halo = {D::k_per_block, D::out_pitch, D::stages, D::lds_bytes};
        return traits;
    }

    template <class D>
    static BwdWeightTypeFields type_fields() {
        return copy_engine_type_fields<D>("DeviceGroupedConvBwdWeight_Halo");
    }

    template <class Kernel, class Regions>
    static void launch(platform::KernelEntry entry, uint32 blocks, const conv::BwdWeightArgs& p, const Regions& regions,
                       platform::Stream stream) {
        using T = typename Kernel::T;
        typename Kernel::Args args;
        args.problem = p;
        args.rings = conv::halo_geometry(conv::halo_shape(p), Kernel::limits);
        const int64 images = p.k / (p.out_length[0] * p.out_length[1]);
        args.in = platform::box_map<T>(p.in, {(p.groups - 1) * p.in_group_bytes / 2 + p.c, p.in_length[1],
                                              p.in_length[0], images, p.in_stride_bytes[1], p.in_stride_bytes[0],
                                              p.in_image_bytes, Kernel::in_channels, args.rings.plane, args.rings.rows,
                                              p.stride[1], p.stride[0]});
        const int64 row_bytes = int64{p.out_row_bytes} * p.out_length[1];
        args.out =
            platform::box_map<T>(p.out, {(p.groups - 1) * p.out_group_bytes / 2 + p.m, p.out_length[1], p.out_length[0],
                                         images, p.out_row_bytes, row_bytes, row_bytes * p.out_length[0],
                                         Kernel::out_channels, args.rings.plane, args.rings.rows, 1, 1});
        platform::launch<Kernel>(entry, blocks, args, regions, stream);
    }
};

}  // namespace ckgen::tensor_operation::device

#endif

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME)                                                                                    \
    CKGEN_DEFINE_INSTANCE_WITH(NAME, ::ckgen::CheckedHalo, ::ckgen::tensor_operation::device::HaloFamily,              \
                               ::ckgen::pipeline::HaloKernel)
