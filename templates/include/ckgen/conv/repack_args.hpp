// Arguments of load/repack.hpp, which copies a tensor into longer rows. An f32 counts as two elements of 16 bits.
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

    CKGEN_HD constexpr int64 group_bytes() const { return int64{pitch} * 2; }  // of a row of the target
};

}  // namespace ckgen::conv
