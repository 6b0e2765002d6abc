// Planning of conv/repack.hpp.
#pragma once

#include "ckgen/conv/problem.hpp"
#include "ckgen/conv/repack_args.hpp"

namespace ckgen::conv {

// How the output is copied for kernels whose copy engine needs rows of a multiple of 16 bytes; without pointers. Rows
// are of whole 128-byte lines where those add no more than `padding` times their bytes.
RepackArgs repack_args(const Problem& problem, int elem_bytes, double padding);

}  // namespace ckgen::conv
