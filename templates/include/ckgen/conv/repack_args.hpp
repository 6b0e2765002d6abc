// Arguments of load/repack.hpp, which copies a tensor of 16-bit elements into longer rows.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// From [positions][groups][columns], with any strides but contiguous columns, to packed [positions][groups][pitch].
struct RepackArgs {
    const char* source;  // aligned to 16 bytes
    char* target;        // aligned to 16 bytes
    int64 source_bytes;  // from the first element to the end of the last
    int64 positions;
    int64 position_stride, group_stride;  // of the source, in elements
    int32 groups, columns;
    int32 pitch;  // a multiple of 8; elements after `columns` become zero
};

}  // namespace ckgen::conv
