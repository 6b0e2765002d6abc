// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_boxes.hpp. Do not edit; run: ckgen generate
// The output of backward data as tensor maps describe it in boxes, for families halo and depthwise_tma.
#pragma once

#include "ckgen/platform/platform.hpp"

#if !CKGEN_DEVICE_PASS
#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/platform/tensor_map.hpp"

namespace ckgen::instances {

// The output of backward data in two dimensions, in boxes of a size that the caller sets.
inline platform::BoxMap boxes_of_output(const conv::BwdDataArgs& p) {
    platform::BoxMap box{};
    box.channels = int64{p.groups} * p.k;
    box.columns = p.out_length[1];
    box.rows = p.out_length[0];
    box.images = p.images;
    // A dimension of length 1 may have any stride, so a stride that the driver accepts is used.
    const auto stride = [](int64 size, int64 bytes) { return size > 1 ? bytes : 16; };
    box.column_bytes = stride(box.columns, p.out_stride_bytes[1]);
    box.row_bytes = stride(box.rows, p.out_stride_bytes[0]);
    box.image_bytes = stride(box.images, p.out_image_bytes);
    box.column_step = box.row_step = 1;
    return box;
}

}  // namespace ckgen::instances

#endif
