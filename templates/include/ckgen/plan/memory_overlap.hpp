// Whether a result would be written over what the same run reads.
#pragma once

#include <string>
#include <vector>

#include "ckgen/conv/problem.hpp"

namespace ckgen::conv {

// A tensor in memory. A null pointer stands for memory that is not allocated yet, which overlaps nothing.
struct Placed {
    const char* name;
    const void* data;
    Tensor shape;  // lengths and strides in elements; those of index 3 + ndim and above are not looked at
    int ndim;
    int elem_bytes;
};

// Whether elements of both tensors may have a byte in common. Exact where their distances nest, as those of slices of
// one larger tensor do: tensors that are disjoint slices of one do not overlap.
bool overlap(const Placed& a, const Placed& b);

// Of a run that writes the first of its tensors, reads the others, and uses `workspace_bytes` at `workspace`: a refusal
// by rule `overlap`, or nothing.
std::string overlap_reason(const std::vector<Placed>& tensors);
std::string workspace_overlap_reason(const void* workspace, int64 workspace_bytes, const std::vector<Placed>& tensors);

}  // namespace ckgen::conv
