// Copied by ckgen from templates/include/ckgen/library/measured.hpp. Do not edit; run: ckgen generate
// Tables of measurements that the selector reads. They are generated (src/library/measured.cpp).
#pragma once

#include <cstddef>
#include <initializer_list>

#include "ckgen/conv/problem.hpp"

namespace ckgen {

template <class T>
struct Span {
    const T* data;
    std::size_t size;
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
};

// The fastest correct run of an instance on a problem.
struct MeasuredCandidate {
    int instance;  // position in measured_names()
    int split_k;
    float microseconds;
};

// A problem with its candidates, fastest first. K and C count per group.
struct MeasuredProblem {
    const char *operation, *arch, *layout, *dtype;
    bool predicted;  // by the cost model; nothing was measured on this architecture
    int ndim;
    int64 groups, batch, k, c;
    int64 filter[3], input[3], strides[3], dilations[3], left_pads[3], right_pads[3];
    std::initializer_list<MeasuredCandidate> candidates;
};

// The instances that are candidates, including those that a library leaves out on its platform, in the order of names.
Span<const char* const> measured_names();
Span<MeasuredProblem> measured_problems();

// The functions that the spec defines, each as JSON with name, expression, tensors and scalars.
Span<const char* const> function_texts();

}  // namespace ckgen
