// Backward weight as the planned operation that op/planned.hpp is a template over.
#pragma once

#include "ckgen/op/planned.hpp"
#include "ckgen/plan/bwd_weight_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdWeight {
    static constexpr const char* name = "grouped_conv_bwd_weight";
    static constexpr const char* words = "grouped convolution backward weight";
    using Traits = conv::BwdWeightTraits;
    using Plan = conv::BwdWeightPlan;
};

// Sums the f32 partials of all splits into the weight. reduce.cpp defines it once per weight type.
template <class Wei>
void reduce_partials(const float* partial, void* wei, int64 elements, int split_k, platform::Stream stream);

}  // namespace ckgen::tensor_operation::device
