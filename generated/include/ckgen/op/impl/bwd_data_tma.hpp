// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_tma.hpp. Do not edit; run: ckgen generate
// Families wavelet_tma and stationary of grouped convolution backward data (sm_90a).
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/tma_family.hpp"
#include "ckgen/pipeline/tma/bwd_data_any_planes.hpp"
#include "ckgen/pipeline/tma/bwd_data_col2im.hpp"
#include "ckgen/pipeline/tma/bwd_data_planes_tma.hpp"
#include "ckgen/pipeline/tma/bwd_data_wavelet_tma.hpp"
#include "ckgen/pipeline/tma/bwd_data_word_planes.hpp"

#if !CKGEN_DEVICE_PASS
#include <algorithm>
#include <climits>
#endif

namespace ckgen::instances {

// The kernel of an instance. AnyBytes: of an element, where images may have any number of positions, else 0.
template <class D, bool ChannelsLast = D::Layout::channels_last, int AnyBytes = D::a_vector == 1 ? D::elem_bytes : 0>
struct BwdDataTmaKernel {
    using Type = pipeline::WaveletTmaBwdDataKernel<D>;
};
template <class D>
struct BwdDataTmaKernel<D, false, 0> {
    using Type = pipeline::PlanesTmaBwdDataKernel<D>;
};
template <class D>
struct BwdDataTmaKernel<D, false, 2> {
    using Type = pipeline::AnyPlanesBwdDataKernel<D>;
};
template <class D>
struct BwdDataTmaKernel<D, false, 4> {
    using Type = pipeline::WordPlanesBwdDataKernel<D>;
};

// Starts at most as many workgroups as multiprocessors can hold.
struct BwdDataTma : TmaFamily<BwdDataFamily> {
    template <class D>
    using Kernel = typename BwdDataTmaKernel<D>::Type;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Wgmma_WaveletModel";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = TmaFamily::traits<D>();
        traits.m_per_block = conv::kTilePositions<D>;
        traits.n_per_block = conv::kTileChannels<D>;
        traits.persistent = true;
        traits.resident = pipeline::tma_resident<D>;
        traits.consumers = pipeline::tma_consumers<D>;
        traits.weight_rows = D::weight_rows;
        traits.transposes_weight = pipeline::kTransposesWeight<D>;
        traits.weight_parts = D::weight_parts;
        traits.any_planes = D::a_vector == 1;
        if(traits.transposes_weight)
            traits.b_vector = 1;  // the copy reads single weights
        else if(traits.b_vector > 1)
            traits.copies_weight = D::c_vector == 1 || !D::Layout::channels_last;
        traits.aligns_weight = sizeof(typename D::Out) == 2 && D::weight_rows == 0;
        return traits;
    }

    template <class Kernel>
    static typename Kernel::Args arguments(uint32, const typename Kernel::Problem& p, const conv::BwdDataPlan& plan) {
        typename Kernel::Args args{};
        args.problem = p;
        args.units = plan.units;
        set_maps<Kernel>(args, p, plan);
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32, const typename Kernel::Args& args) {
        // Workgroups without a unit help with the fixup.
        const int needed = Kernel::needs_fixup(args) ? INT_MAX : args.units.schedule.units();
        return static_cast<uint32>(std::min(needed, platform::compute_units() * Kernel::resident));
    }

protected:
    template <class Kernel, class D>
    static void set_maps(pipeline::WaveletTmaBwdDataArgs<D>& args, const conv::BwdDataArgs& p,
                         const conv::BwdDataPlan& plan) {
        using T = typename Kernel::T;
        args.tap_columns = tap_columns<Kernel>(p, plan);
        args.wei = platform::box_map<T>(p.wei, weight_of<Kernel>(p, args.tap_columns));
        set_output_maps<Kernel>(args, p, plan);
    }
    template <class Kernel, class D>
    static void set_output_maps(pipeline::WaveletTmaBwdDataArgs<D>& args, const conv::BwdDataArgs& p,
                                const conv::BwdDataPlan& plan) {
        using T = typename Kernel::T;
        args.out_group_channels = static_cast<int32>(p.out_group_bytes / static_cast<int64>(sizeof(T)));
        const int64 channels = output_channels<Kernel>(p, plan);
        for(int number = 0; number < p.sub_gemms; ++number)
            if(const conv::SubGemm& seen = plan.units.sub_gemms[number]; seen.rows > 0)
                args.out[number] =
                    platform::im2col_map<T>(p.out, walk_of<Kernel>(p, seen, channels), Kernel::rows_per_copy);
    }
    template <class Kernel, class D>
    static void set_maps(pipeline::PlanesTmaBwdDataArgs<D>& args, const conv::BwdDataArgs& p,
                         const conv::BwdDataPlan& plan) {
        using T = typename Kernel::T;
        args.wei = platform::box_map<T>(p.wei, weight_of<Kernel>(p, tap_columns<Kernel>(p, plan)));
        args.out = platform::box_map<T>(
            p.out, platform::plane_boxes({p.positions, p.k, p.groups, p.images}, p.out_k_bytes, p.out_group_bytes,
                                         p.out_image_bytes, Kernel::box_positions, p.tap_rows));
    }

    template <class Kernel, class D>
    static void set_maps(pipeline::AnyPlanesBwdDataArgs<D>& args, const conv::BwdDataArgs& p,
                         const conv::BwdDataPlan& plan) {
        args.wei = platform::box_map<typename Kernel::T>(p.wei, weight_of<Kernel>(p, tap_columns<Kernel>(p, plan)));
        args.out_bytes = (p.groups - 1) * p.out_group_bytes + (p.images - 1) * p.out_image_bytes +
                         int64{p.k - 1} * p.out_k_bytes + int64{p.positions} * int64{sizeof(typename Kernel::T)};
    }

    template <class Kernel, class D>
    static void set_maps(pipeline::WordPlanesBwdDataArgs<D>& args, const conv::BwdDataArgs& p,
                         const conv::BwdDataPlan& plan) {
        if constexpr(Kernel::transposes_weight)
            args.wei = platform::box_map<typename Kernel::T>(p.wei, weight_of<Kernel>(p, tap_columns<Kernel>(p, plan)));
    }

    // The columns of a tap in the weight's rows: C, or more in a copy.
    template <class Kernel>
    static int32 tap_columns(const conv::BwdDataArgs& p, const conv::BwdDataPlan& plan) {
        return !Kernel::transposes_weight && plan.weight_copy.rows > 0 ? plan.weight_copy.pitch : p.n;
    }

    // The weight as [group][K][taps * tap_columns], in boxes of tap_rows of K by 128 bytes of a tap's; transposed as
    // [group][taps][C][K], in boxes of a tile's columns by 128 bytes of K.
    template <class Kernel>
    static platform::BoxMap weight_of(const conv::BwdDataArgs& p, int32 tap_columns) {
        constexpr int64 bytes = sizeof(typename Kernel::T);
        int64 taps = 1;
        for(int d = 0; d < Kernel::ndim; ++d)
            taps *= p.filter[d];
        platform::BoxMap box{};
        box.box_rows = box.column_step = box.row_step = 1;
        if constexpr(Kernel::transposes_weight) {
            box.channels = p.k;
            box.columns = p.n;
            box.rows = taps;
            box.images = p.groups * Kernel::weight_parts;
            box.column_bytes = conv::transposed_pitch(p.k) * bytes;
            box.row_bytes = box.columns * box.column_bytes;
            box.image_bytes = box.rows * box.row_bytes;
            box.box_channels = Kernel::k_per_block;
            box.box_columns = Kernel::n_per_block;
        } else {
            box.channels = taps * tap_columns;
            box.columns = p.k;
            box.rows = p.groups;
            box.images = 1;
            box.column_bytes = box.channels * bytes;
            box.row_bytes = box.columns * box.column_bytes;
            box.image_bytes = box.row_bytes;
            box.box_channels = 128 / bytes;
            box.box_columns = p.tap_rows;
        }
        return box;
    }

    // The channels of a position that TMA may read. Reads outside a tensor take TMA longer; a copy of the output in
    // rows of 128 bytes has zeros after the channels instead. Other rows of 128 bytes may have channels of another
    // tensor.
    template <class Kernel>
    static int64 output_channels(const conv::BwdDataArgs& p, const conv::BwdDataPlan& plan) {
        const bool copied = plan.workspace.out.bytes > 0 && p.out_stride_bytes[Kernel::ndim - 1] == 128;
        if(copied && p.groups == 1 && p.k < Kernel::k_per_block)
            return Kernel::k_per_block;
        return (p.groups - 1) * p.out_group_bytes / static_cast<int64>(sizeof(typename Kernel::T)) + p.k;
    }

    // The output in the order in which the positions of a sub-GEMM read it under the sub-GEMM's last tap.
    template <class Kernel>
    static platform::Im2colMap walk_of(const conv::BwdDataArgs& p, const conv::SubGemm& seen, int64 channels) {
        platform::Im2colMap image{};
        image.channels = channels;
        image.images = p.images;
        image.image_bytes = p.out_image_bytes;
        for(int d = 0; d < Kernel::ndim; ++d) {
            const int s = Kernel::ndim - 1 - d;  // innermost first
            image.length[d] = p.out_length[s];
            image.stride_bytes[d] = p.out_stride_bytes[s];
            image.step[d] = 1;
            image.lower[d] = seen.origin[s] - p.shift[s] * (seen.taps[s] - 1);
            image.upper[d] = image.lower[d] + seen.count[s] - p.out_length[s];
        }
        image.ndim = Kernel::ndim;
        image.box_channels = Kernel::k_per_block;
        return image;
    }
#endif
};

struct BwdDataWaveletTma : BwdDataTma {
    template <class Config>
    using Checked = CheckedBwdDataTma<Config>;
};

// One workgroup computes all of a tile, so the schedule has no stream-K tiles.
struct BwdDataCol2im : BwdDataTma {
    template <class Config>
    using Checked = CheckedBwdDataCol2im<Config>;
    template <class D>
    using Kernel = pipeline::Col2imKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_Wgmma_Col2im";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = BwdDataTma::traits<D>();
        traits.sums_columns = true;
        traits.b_vector = 1;
        traits.copies_weight = traits.aligns_weight = false;
        return traits;
    }
    template <class Kernel>
    static typename Kernel::Args arguments(uint32, const typename Kernel::Problem& p, const conv::BwdDataPlan& plan) {
        typename Kernel::Args args{};
        args.problem = p;
        args.units = plan.units;
        args.columns = plan.columns;
        args.wei = platform::box_map<typename Kernel::T>(p.wei, weight_of<Kernel>(p, plan.columns));
        set_output_maps<Kernel>(args, p, plan);
        return args;
    }

private:
    // See pipeline/tma/bwd_data_col2im.hpp.
    template <class Kernel>
    static platform::BoxMap weight_of(const conv::BwdDataArgs& p, const conv::Col2im& columns) {
        constexpr int64 bytes = sizeof(typename Kernel::T);
        const int outer = Kernel::ndim == 3 ? p.filter[0] : 1;
        platform::BoxMap box{};
        box.column_step = box.row_step = 1;
        box.images = p.groups * Kernel::weight_parts;
        if constexpr(Kernel::transposes_weight) {
            box.channels = p.k;
            box.columns = columns.weight_row;
            box.rows = outer;
            box.column_bytes = conv::transposed_pitch(p.k) * bytes;
            box.row_bytes = box.columns * box.column_bytes;
            box.image_bytes = box.rows * box.row_bytes;
            box.box_channels = Kernel::k_per_block;
            box.box_columns = Kernel::n_per_block;
            box.box_rows = 1;
        } else {
            box.channels = columns.weight_row;
            box.columns = outer;
            box.rows = p.k;
            box.column_bytes = box.channels * bytes;
            box.row_bytes = box.columns * box.column_bytes;
            box.image_bytes = box.rows * box.row_bytes;
            box.box_channels = 128 / bytes;
            box.box_columns = 1;
            box.box_rows = p.tap_rows;
        }
        return box;
    }
#endif
};

struct BwdDataStationary : BwdDataTma {
    template <class Config>
    using Checked = CheckedBwdDataStationary<Config>;
};

}  // namespace ckgen::instances
