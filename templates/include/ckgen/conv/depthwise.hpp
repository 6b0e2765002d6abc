// The division of work among workgroups and threads in family depthwise: host planning and kernels read the same
// values. A strip is what one thread computes at once: see pipeline/depthwise.hpp.
#pragma once

#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/conv/bwd_weight_args.hpp"

namespace ckgen::conv {

// Properties of an instance; the vector is 0 for other families.
struct DepthwiseLimits {
    int vector;            // groups per thread
    int channels;          // groups per workgroup
    int row_taps;          // taps of a filter row that are multiplied at once
    int rows;              // filter rows that are multiplied at once
    int positions;         // positions per strip
    int position_threads;  // threads of a workgroup that have the same groups
};

// Backward data.
struct DepthwiseStripWork {
    int32 channel_blocks;  // workgroups beside each other along the groups
    int32 shares;          // workgroups that share the strips of a residue of the strides
    int32 rounds;          // strips per thread
    int32 rows;            // of the input per sweep
};

// Backward weight. A unit is a part of the filter of one output channel of a group: at most row_taps taps of `rows`
// rows.
struct DepthwiseWork {
    int32 units;        // of a group
    int32 unit_groups;  // units of a workgroup
    int32 rounds;       // strips per thread
    // Stride and dilation of the innermost dimension without their greatest common divisor. Positions of a strip are
    // `dilation` apart, so that they are `stride` taps apart in the input.
    int32 stride, dilation;
    int32 row_stride, row_dilation;  // the same of the dimension of rows
    int32 rows;                      // of the output per sweep
};

}  // namespace ckgen::conv
