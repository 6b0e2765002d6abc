// The boxes that TMA copies in families halo and depthwise_tma of backward weight: rows of images.
#pragma once

#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/tma_family.hpp"

namespace ckgen::instances {

struct HaloBoxes : TmaFamily<BwdWeightFamily> {
#if !CKGEN_DEVICE_PASS
    template <class Kernel>
    static uint32 workgroups(uint32 blocks, const typename Kernel::Args&) {
        return blocks;
    }

protected:
    // Boxes of `rows` rows of `columns` positions, `stride` apart, and `channels` channels. T: the type of elements.
    template <class T>
    static platform::BoxMap in_box(const conv::BwdWeightArgs& p, int channels, int columns, int rows) {
        return {(p.groups - 1) * p.in_group_bytes / static_cast<int>(sizeof(T)) + of_group(p.merged.c, p.c),
                p.in_length[1],
                p.in_length[0],
                images_of(p),
                p.in_stride_bytes[1],
                p.in_stride_bytes[0],
                p.in_image_bytes,
                channels,
                columns,
                rows,
                p.stride[1],
                p.stride[0]};
    }
    template <class T>
    static platform::BoxMap out_box(const conv::BwdWeightArgs& p, int channels, int columns, int rows) {
        const int64 row_bytes = int64{p.out_row_bytes} * p.out_length[1];
        return {(p.groups - 1) * p.out_group_bytes / static_cast<int>(sizeof(T)) + of_group(p.merged.k, p.m),
                p.out_length[1],
                p.out_length[0],
                images_of(p),
                p.out_row_bytes,
                row_bytes,
                row_bytes * p.out_length[0],
                channels,
                columns,
                rows,
                1,
                1};
    }

private:
    // Channels of one group, of `all` of those that are computed as one; `own` is 0 if groups are not merged.
    static int of_group(int own, int all) { return own > 0 ? own : all; }
    static int64 images_of(const conv::BwdWeightArgs& p) { return p.k / (p.out_length[0] * p.out_length[1]); }
#endif
};

}  // namespace ckgen::instances
