// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_tma.hpp. Do not edit; run: ckgen generate
// Family wavelet_tma of grouped convolution backward weight (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/tma_family.hpp"
#include "ckgen/pipeline/wavelet_tma.hpp"

#if !CKGEN_DEVICE_PASS
#include <algorithm>
#include <climits>
#endif

namespace ckgen::instances {

// Starts at most one workgroup per multiprocessor.
struct BwdWeightWaveletTma : TmaFamily<BwdWeightFamily> {
    template <class Config>
    using Checked = CheckedBwdWeightTma<Config>;
    template <class D>
    using Kernel = pipeline::WaveletTmaKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Wgmma_WaveletModel";

    template <class D>
    static conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = TmaFamily::traits<D>();
        traits.persistent = true;
        return traits;
    }

    template <class Kernel, class Problem>
    static typename Kernel::Args arguments(uint32, const Problem& p, const conv::BwdWeightPlan&) {
        using T = typename Kernel::T;
        typename Kernel::Args args;
        args.problem = p;
        args.out_group_columns = static_cast<int32>(p.out_group_bytes / 2);
        args.in_group_channels = static_cast<int32>(p.in_group_bytes / 2);
        args.out = platform::matrix_map<T>(p.out, (p.groups - 1) * p.out_group_bytes / 2 + p.m, p.k, p.out_row_bytes,
                                           Kernel::rows_per_copy);
        args.in = platform::im2col_map<T>(p.in, image_of<Kernel::ndim>(p), Kernel::rows_per_copy);
        int rows = Kernel::rows_per_copy;
        for(int i = 0; i < Kernel::ndim; ++i) {
            args.advance[i] = rows % p.out_length[Kernel::ndim - 1 - i];
            rows /= p.out_length[Kernel::ndim - 1 - i];
        }
        args.advance[Kernel::ndim] = rows;
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32, const typename Kernel::Args& args) {
        // Workgroups without a unit help with the fixup.
        const int units = Kernel::needs_fixup(args) ? INT_MAX : args.problem.schedule.units();
        return static_cast<uint32>(std::min(units, platform::compute_units()));
    }

private:
    template <int NDim>
    static platform::Im2colMap image_of(const conv::BwdWeightArgs& p) {
        platform::Im2colMap image{};
        image.ndim = NDim;
        image.channels = (p.groups - 1) * p.in_group_bytes / 2 + p.c;
        image.images = p.k;
        image.image_bytes = p.in_image_bytes;
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
