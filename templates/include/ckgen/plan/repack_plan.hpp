// Planning of load/repack.hpp.
#pragma once

#include "ckgen/conv/problem.hpp"
#include "ckgen/conv/repack_args.hpp"

namespace ckgen::conv {

// What a run keeps in the workspace, one behind the other.
struct Workspace {
    // f32 partials: of all splits, none with split_k 1; of persistent kernels also those of sums cut into several.
    int64 partial_bytes = 0;
    int64 copy_offset = 0;  // a multiple of 256
    int64 copy_bytes = 0;   // a copy of the output with longer rows; 0 where it needs none

    int64 bytes() const { return copy_bytes > 0 ? copy_offset + copy_bytes : partial_bytes; }
};

// How the output is copied for TMA, which reads rows of a multiple of 16 bytes; without pointers. Rows are of whole
// 128-byte lines where those add no more than `padding` times their bytes.
RepackArgs repack_args(const Problem& problem, int elem_bytes, double padding);
// Puts the copy behind the partials; refuses one of more than 2^42 bytes.
std::string place_copy(Workspace& workspace, const RepackArgs& copy, int elem_bytes);

}  // namespace ckgen::conv
