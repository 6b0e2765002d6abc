// Inputs of a tensor map: the memory that it describes and the box that one TMA copy reads.
#pragma once

#include "ckgen/compute_types.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::platform {

// Thrown if the driver, or the host platform in its place, refuses a tensor map.
class TensorMapRefused : public LaunchError {
    using LaunchError::LaunchError;
};

// A channels-last tensor of 2D images and the box that one copy reads: box_channels channels of box_rows rows and
// box_columns columns, every row_step-th row and column_step-th column. Swizzled over the channels if the box has 128
// or 64 bytes of them, else packed. Strides are in bytes; positions outside read as zero.
struct BoxMap {
    int64 channels, columns, rows, images;
    int64 column_bytes, row_bytes, image_bytes;
    int box_channels, box_columns, box_rows, column_step, row_step;
};

// A channels-last image tensor, read in the order of a convolution's positions. Spatial arrays are innermost first.
struct Im2colMap {
    int ndim;
    int64 channels, images;
    int64 length[3], stride_bytes[3], image_bytes;
    int lower[3], upper[3];  // corners of the box in which tap 0 moves: -left pad, right pad - (filter - 1) * dilation
    int step[3];             // stride of the convolution
};

}  // namespace ckgen::platform
