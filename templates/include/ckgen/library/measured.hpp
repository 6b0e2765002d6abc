// Tables that the selector reads: the fields of every instance, and the measurements of some of them. The tables are
// generated (src/library/measured.cpp).
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

struct InstanceFields {
    const char *name, *operation, *layout, *dtype, *function;
    const char* archs;                         // separated by blanks; empty: all
    int tile_rows, tile_columns, k_per_block;  // of the result, and of a step along GEMM-K
    int values;                                // read per term of a tile's sums
    int macs;                                  // per term and tap, if they may take longer than reading; else 0
    int a_vector, b_vector, c_vector;
    int weight_rows;  // rows of GEMM-K that stay in LDS: family stationary, else 0
    bool any_filter;  // its conv_spec is Default
    bool all_taps;    // a tile's columns are those of every tap
    bool all_groups;  // a tile's columns run over the groups
    bool generic;
};

// The fastest correct run of an instance on a problem. longest_sum: see ckgen/selection/measured.py.
struct MeasuredCandidate {
    int instance;  // position in instance_fields()
    int split_k;
    float microseconds;
    int64 longest_sum;
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

// Instances of the whole tree, including those that a library leaves out on its platform.
Span<InstanceFields> instance_fields();
Span<MeasuredProblem> measured_problems();

// The functions that the spec defines, each as JSON with name, expression, tensors and scalars.
Span<const char* const> function_texts();

}  // namespace ckgen
