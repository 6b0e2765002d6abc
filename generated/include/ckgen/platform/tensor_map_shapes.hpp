// Copied by ckgen from templates/include/ckgen/platform/tensor_map_shapes.hpp. Do not edit; run: ckgen generate
// Inputs of a tensor map: the memory that it describes and the box that one TMA copy reads.
#pragma once

#include "ckgen/platform/tma.hpp"

namespace ckgen::platform {

// The driver, or the host platform in its place, does not take a tensor map.
class TensorMapRefused : public LaunchError {
    using LaunchError::LaunchError;
};

// A channels-last tensor of 2D images and the box that one copy takes of it: box_channels channels of box_rows rows and
// box_columns columns, every row_step-th and column_step-th. Swizzled over its channels where the box has 64 or 32,
// else packed. Bytes lie between neighbours; what lies outside reads as zero.
struct BoxMap {
    int64 channels, columns, rows, images;
    int64 column_bytes, row_bytes, image_bytes;
    int box_channels, box_columns, box_rows, column_step, row_step;
};

// A channels-last image tensor seen through a convolution's positions. Spatial arrays are innermost first.
struct ImageMap {
    int ndim;
    int64 channels, images;
    int64 length[3], stride_bytes[3], image_bytes;
    int lower[3], upper[3];  // corners of the box that tap 0 walks: -left pad, right pad - (filter - 1) * dilation
    int step[3];             // the convolution's stride
};

}  // namespace ckgen::platform
