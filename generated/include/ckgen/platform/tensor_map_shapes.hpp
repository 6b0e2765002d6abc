// Copied by ckgen from templates/include/ckgen/platform/tensor_map_shapes.hpp. Do not edit; run: ckgen generate
// Inputs of a tensor map: the memory that it describes and the box that one TMA copy reads.
#pragma once

#include "ckgen/compute_types.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::platform {

// Thrown if the driver, or the host platform in its place, refuses a tensor map.
class TensorMapRefused : public LaunchError {
    using LaunchError::LaunchError;
};

// A channels-last tensor of 2D images and the box that one copy reads: box_channels channels of box_images images,
// box_rows rows and box_columns columns, every row_step-th row and column_step-th column. Swizzled over the channels if
// the box has 128 or 64 bytes of them and is not `plain`, else packed. Strides are in bytes; positions outside read as
// zero.
struct BoxMap {
    int64 channels, columns, rows, images;
    int64 column_bytes, row_bytes, image_bytes;
    int box_channels, box_columns, box_rows, column_step, row_step;
    bool plain = false;
    int box_images = 1;
};

// The boxes of a tensor whose neighbouring positions are side by side: box_positions positions of box_channels channels
// of a group and an image. The stride of a dimension of size 1 may be anything.
struct PlaneSizes {
    int64 positions, channels, groups, images;
};
inline BoxMap plane_boxes(const PlaneSizes& sizes, int64 channel_bytes, int64 group_bytes, int64 image_bytes,
                          int box_positions, int box_channels) {
    const auto stride = [](int64 size, int64 bytes) { return size > 1 ? bytes : 16; };
    BoxMap box{};
    box.channels = sizes.positions;
    box.columns = sizes.channels;
    box.rows = sizes.groups;
    box.images = sizes.images;
    box.column_bytes = stride(sizes.channels, channel_bytes);
    box.row_bytes = stride(sizes.groups, group_bytes);
    box.image_bytes = stride(sizes.images, image_bytes);
    box.box_channels = box_positions;
    box.box_columns = box_channels;
    box.box_rows = box.column_step = box.row_step = 1;
    return box;
}

// A channels-last image tensor, read in the order of a convolution's positions. Spatial arrays are innermost first.
struct Im2colMap {
    int ndim;
    int64 channels, images;
    int64 length[3], stride_bytes[3], image_bytes;
    int lower[3], upper[3];  // corners of the box in which tap 0 moves: -left pad, right pad - (filter - 1) * dilation
    int step[3];             // stride of the convolution
    int box_channels;        // of a copied position: 128 or 64 bytes
};

}  // namespace ckgen::platform
