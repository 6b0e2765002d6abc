// Checks that a run does not write its result over memory that it reads.
#pragma once

#include <string>
#include <vector>

#include "ckgen/conv/problem.hpp"

namespace ckgen::conv {

// A tensor in memory. A null pointer stands for memory that is not allocated yet, which overlaps nothing.
struct Placed {
    const char* name;
    const void* data;
    Tensor shape;  // lengths and strides in elements; entries from index 3 + ndim on are ignored
    int ndim;
    int elem_bytes;
};

// True if elements of both tensors may have a byte in common. Exact where the strides nest, as those of slices of one
// larger tensor do: disjoint slices do not overlap.
bool overlap(const Placed& a, const Placed& b);

// A refusal by rule `overlap`, or empty. The run writes the first tensor, reads the others, and uses `workspace_bytes`
// at `workspace`.
std::string overlap_reason(const std::vector<Placed>& tensors);
std::string workspace_overlap_reason(const void* workspace, int64 workspace_bytes, const std::vector<Placed>& tensors);

}  // namespace ckgen::conv
