// Copied by ckgen from templates/include/ckgen/op/bwd_data.hpp. Do not edit; run: ckgen generate
// Backward data as the planned operation that op/planned.hpp is a template over.
#pragma once

#include "ckgen/op/planned.hpp"
#include "ckgen/plan/bwd_data_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdData {
    static constexpr const char* name = "grouped_conv_bwd_data";
    static constexpr const char* words = "grouped convolution backward data";
    using Traits = conv::BwdDataTraits;
    using Plan = conv::BwdDataPlan;
};

}  // namespace ckgen::tensor_operation::device
