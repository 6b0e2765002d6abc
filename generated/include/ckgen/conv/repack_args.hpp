// Copied by ckgen from templates/include/ckgen/conv/repack_args.hpp. Do not edit; run: ckgen generate
// Copying a tensor of 16-bit elements into longer rows: arguments of load/repack.hpp.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// [positions][groups][columns] with any strides but 1 within a row -> [positions][groups][pitch], packed.
struct RepackArgs {
    const char* source;  // at a multiple of 16 bytes
    char* target;        // likewise
    int64 source_bytes;  // from the first to past the last element
    int64 positions;
    int64 position_stride, group_stride;  // of the source, in elements
    int32 groups, columns;
    int32 pitch;  // a multiple of 8; what lies past `columns` becomes zero
};

}  // namespace ckgen::conv
