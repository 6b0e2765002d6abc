// Family wavelet_tma of grouped convolution backward weight (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/tma_family.hpp"
#include "ckgen/pipeline/tma/any_planes.hpp"
#include "ckgen/pipeline/tma/any_rows.hpp"
#include "ckgen/pipeline/tma/planes_tma.hpp"
#include "ckgen/pipeline/tma/wavelet_tma.hpp"

#if !CKGEN_DEVICE_PASS
#include <algorithm>
#include <climits>
#endif

namespace ckgen::instances {

template <class D, bool ChannelsLast = D::Layout::channels_last, bool Any = D::a_vector == 1>
struct BwdWeightTmaKernel {
    using Type = pipeline::WaveletTmaKernel<D>;
};
template <class D>
struct BwdWeightTmaKernel<D, true, true> {
    using Type = pipeline::AnyRowsKernel<D>;
};
template <class D>
struct BwdWeightTmaKernel<D, false, false> {
    using Type = pipeline::PlanesTmaKernel<D>;
};
template <class D>
struct BwdWeightTmaKernel<D, false, true> {
    using Type = pipeline::AnyPlanesKernel<D>;
};

// Starts at most one workgroup per multiprocessor.
struct BwdWeightWaveletTma : TmaFamily<BwdWeightFamily> {
    template <class Config>
    using Checked = CheckedBwdWeightTma<Config>;
    template <class D>
    using Kernel = typename BwdWeightTmaKernel<D>::Type;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Wgmma_WaveletModel";

    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = TmaFamily::traits<D>();
        traits.persistent = true;
        traits.consumers = pipeline::tma_consumers<D>;
        traits.cluster = Kernel<D>::cluster;
        traits.any_planes = D::a_vector == 1;
        traits.copies_input = D::c_vector == 1 && D::Layout::channels_last && !traits.any_planes;
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdWeightPlan&) {
        typename Kernel::Args args;
        args.problem = p;
        set_maps<typename Kernel::T>(args, p);
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32, const typename Kernel::Args& args) {
        // Workgroups without a unit help with the fixup.
        const int units = Kernel::needs_fixup(args) ? INT_MAX : args.problem.schedule.units();
        return static_cast<uint32>(std::min(units, platform::compute_units() / Kernel::cluster * Kernel::cluster));
    }

private:
    template <class T, class D>
    static void set_maps(pipeline::WaveletTmaArgs<D>& args, const conv::BwdWeightArgs& p) {
        constexpr int ndim = D::Layout::ndim;
        args.out_group_columns = static_cast<int32>(p.out_group_bytes / sizeof(T));
        args.in_group_channels = static_cast<int32>(p.in_group_bytes / sizeof(T));
        args.out = platform::matrix_map<T>(p.out, (p.groups - 1) * int64{args.out_group_columns} + p.m, p.k,
                                           p.out_row_bytes, D::k_per_block);
        args.in = platform::im2col_map<T>(p.in, image_of<T, ndim>(p, args.in_group_channels), D::k_per_block);
        int rows = D::k_per_block;
        for(int i = 0; i < ndim; ++i) {
            args.advance[i] = rows % p.out_length[ndim - 1 - i];
            rows /= p.out_length[ndim - 1 - i];
        }
        args.advance[ndim] = rows;
    }
    template <class T, class D>
    static void set_maps(pipeline::PlanesTmaArgs<D>& args, const conv::BwdWeightArgs& p) {
        args.image_tiles = ceil_div(p.out_positions, D::k_per_block);
        const int64 images = p.k_tiles / args.image_tiles;
        args.out_rows = std::min(p.m, D::m_per_block);
        args.in_rows = std::min(p.n, D::n_per_block);
        args.out = platform::box_map<T>(p.out, platform::plane_boxes({p.out_positions, p.m, p.groups, images},
                                                                     p.out_channel_bytes, p.out_group_bytes,
                                                                     p.out_image_bytes, D::k_per_block, args.out_rows));
        args.in = platform::box_map<T>(p.in, platform::plane_boxes({p.out_positions, p.n, p.groups, images},
                                                                   p.in_channel_bytes, p.in_group_bytes,
                                                                   p.in_image_bytes, D::k_per_block, args.in_rows));
    }
    template <class T, class D>
    static void set_maps(pipeline::AnyPlanesArgs<D>& args, const conv::BwdWeightArgs& p) {
        args.images_on = D::k_per_block / p.out_positions;
        args.positions_on = D::k_per_block % p.out_positions;
    }
    template <class T, class D>
    static void set_maps(pipeline::AnyRowsArgs<D>&, const conv::BwdWeightArgs&) {}
    template <class T, int NDim>
    static platform::Im2colMap image_of(const conv::BwdWeightArgs& p, int64 group_channels) {
        platform::Im2colMap image{};
        image.ndim = NDim;
        image.channels = (p.groups - 1) * group_channels + p.c;
        image.images = p.k;
        image.image_bytes = p.in_image_bytes;
        image.box_channels = 128 / static_cast<int>(sizeof(T));
        for(int d = 0; d < NDim; ++d) {
            const int s = NDim - 1 - d;  // innermost first
            image.images /= p.out_length[s];
            image.length[d] = p.in_length[s];
            image.stride_bytes[d] = p.in_stride_bytes[s];
            image.step[d] = p.stride[s];
            image.lower[d] = -p.pad[s];
            // The last position at which the walk may start: tap 0 of the last output position.
            image.upper[d] = (p.out_length[s] - 1) * p.stride[s] - p.pad[s] - (p.in_length[s] - 1);
        }
        return image;
    }
#endif
};

}  // namespace ckgen::instances
