// Family wavelet_tma of grouped convolution backward data (sm_90a): what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_TMA_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_TMA_HPP

#include "ckgen/device/impl/copy_engine_data_family.hpp"
#include "ckgen/instance/checked_tma_data.hpp"
#include "ckgen/pipeline/wavelet_tma_data.hpp"

#if !CKGEN_DEVICE_PASS

#include <algorithm>
#include <climits>

namespace ckgen::tensor_operation::device {

// Makes the tensor maps that the kernel's copies go through, and starts one workgroup a multiprocessor at most.
struct TmaDataFamily : CopyEngineDataFamily {
    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = CopyEngineDataFamily::traits<D>();
        traits.persistent = true;
        return traits;
    }

    template <class D>
    static BwdDataTypeFields type_fields() {
        return CopyEngineDataFamily::type_fields<D>("DeviceGroupedConvBwdDataMultipleD_Wgmma_WaveletModel");
    }

    template <class Kernel, class Regions>
    static void launch(platform::KernelEntry entry, uint32, const typename Kernel::Problem& p,
                       const conv::BwdDataUnits& units, const Regions& regions, platform::Stream stream) {
        using T = typename Kernel::T;
        typename Kernel::Args args{};
        args.problem = p;
        args.units = units;
        args.out_group_channels = static_cast<int32>(p.out_group_bytes / static_cast<int64>(sizeof(T)));
        args.wei = platform::box_map<T>(p.wei, weight_of<Kernel::ndim>(p));
        for(int number = 0; number < p.classes; ++number) {
            const platform::ImageMap walk = walk_of<Kernel>(p, number);
            if(walk.ndim > 0)
                args.out[number] = platform::image_map<T>(p.out, walk, Kernel::rows_per_copy);
        }
        // Those without a unit help to add up.
        const int workgroups = Kernel::has_second_half(args) ? INT_MAX : units.schedule.units();
        platform::launch<Kernel>(entry, static_cast<uint32>(std::min(workgroups, platform::compute_units())), args,
                                 regions, stream);
    }

private:
    // The weight as [group][K][taps * C], in boxes of 64 of K by 64 of a tap's channels.
    template <int NDim>
    static platform::BoxMap weight_of(const conv::BwdDataArgs& p) {
        platform::BoxMap box{};
        box.channels = p.n;
        for(int d = 0; d < NDim; ++d)
            box.channels *= p.filter[d];
        box.columns = p.k;
        box.rows = p.groups;
        box.images = 1;
        box.column_bytes = box.channels * 2;
        box.row_bytes = box.columns * box.column_bytes;
        box.image_bytes = box.row_bytes;
        box.box_channels = box.box_columns = 64;
        box.box_rows = box.column_step = box.row_step = 1;
        return box;
    }

    // The output as the positions of a class walk through it under the class's last tap; ndim 0 if it has none.
    template <class Kernel>
    static platform::ImageMap walk_of(const typename Kernel::Problem& p, int number) {
        constexpr int64 bytes = sizeof(typename Kernel::T);
        platform::ImageMap image{};
        image.channels = (p.groups - 1) * p.out_group_bytes / bytes + p.k;
        image.images = p.images;
        image.image_bytes = p.out_image_bytes;
        bool any = true;
        for(int s = Kernel::ndim - 1; s >= 0; --s) {
            const int d = Kernel::ndim - 1 - s;  // innermost first
            const int classes = std::min(p.tilde[s], p.filter[s]);
            const conv::BwdDataClass seen = conv::class_of_tap(p, s, number % classes);
            number /= classes;
            any = any && seen.count > 0;
            image.length[d] = p.out_length[s];
            image.stride_bytes[d] = p.out_stride_bytes[s];
            image.step[d] = 1;
            image.lower[d] = seen.origin - p.shift[s] * (seen.taps - 1);
            image.upper[d] = image.lower[d] + seen.count - p.out_length[s];
        }
        image.ndim = any ? Kernel::ndim : 0;
        return image;
    }
};

}  // namespace ckgen::tensor_operation::device

#endif

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME)                                                                                    \
    CKGEN_DEFINE_DATA_INSTANCE_WITH(NAME, ::ckgen::CheckedTmaData, ::ckgen::tensor_operation::device::TmaDataFamily,   \
                                    ::ckgen::pipeline::WaveletTmaDataKernel)
