// The source of the input: by the filter, the layout and the width of accesses.
#pragma once

#include "ckgen/load/shifted_plane_source.hpp"

namespace ckgen::conv {

// B: In of one group.
template <class Copy, int NDim, ConvSpec Spec, class Order, bool IsKMajor = Order::k_major>
struct InputSource : Im2colSource<Copy, NDim, Order> {
    using Im2colSource<Copy, NDim, Order>::Im2colSource;
};
template <class Base, int NDim, class Order>
struct InputSource<block::ShiftedSlotCopy<Base>, NDim, ConvSpec::Default, Order, true>
    : ShiftedPlaneSource<block::ShiftedSlotCopy<Base>, NDim, Order> {
    using ShiftedPlaneSource<block::ShiftedSlotCopy<Base>, NDim, Order>::ShiftedPlaneSource;
};
template <class Copy, int NDim, class Order>
struct InputSource<Copy, NDim, ConvSpec::Filter1x1Stride1Pad0, Order, false> : LinearSource<Copy> {
    CKGEN_DEVICE InputSource(const platform::Thread&, int id, const BwdWeightArgs& args, const char* base,
                             int first_row, int first_column, int channels)
        : LinearSource<Copy>(id, base, args.k, args.in_row_bytes, first_row, first_column, existing(channels, args.n)) {
    }
};
template <class Copy, int NDim, class Order>
struct InputSource<Copy, NDim, ConvSpec::Filter1x1Stride1Pad0, Order, true> : PlaneSource<Copy> {
    CKGEN_DEVICE InputSource(const platform::Thread& thread, int id, const BwdWeightArgs& args, const char* base,
                             int first_row, int first_column, int channels)
        : PlaneSource<Copy>(thread, id,
                            {args.in_image_bytes, args.in_row_bytes, args.in_channel_bytes, args.out_positions}, base,
                            args.k, existing(channels, args.n), first_row, first_column) {}
};

}  // namespace ckgen::conv
