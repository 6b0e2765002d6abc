// Predicted times of instances on problems: what the selector asks the model of time.
#pragma once

#include "ckgen/conv/problem_sizes.hpp"
#include "ckgen/library/registry.hpp"
#include "ckgen/library/time_model.hpp"

namespace ckgen::time_model {

// The sizes of the problem whose products an instance computes.
conv::ProblemSizes counted(const InstanceFields& i, const conv::ProblemSizes& p);

// Tiles of the results of all groups, as if each group were one matrix product.
int64 tiles(const InstanceFields& i, const conv::Extents& own, int64 groups);

// Microseconds, and the split_k of the fastest; -1 if split_k does not divide the instance's work.
struct Timed {
    double microseconds;
    int64 split_k;
};

// `own`: the extents of the counted problem. The fastest of the split-K factors that split_ks of
// ckgen/selection/time_model.py lists.
Timed fastest(const InstanceFields& i, const Device& device, const Row& row, const Roles& roles,
              const conv::Extents& own, const conv::ProblemSizes& p);

}  // namespace ckgen::time_model
