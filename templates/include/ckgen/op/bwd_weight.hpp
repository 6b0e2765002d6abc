// Backward weight as the planned operation that op/planned.hpp is a template over.
#pragma once

#include "ckgen/conv/problem_sizes.hpp"
#include "ckgen/op/planned.hpp"
#include "ckgen/op/reference_conv_bwd_weight.hpp"
#include "ckgen/plan/bwd_weight_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdWeight : operations::BwdWeight {
    using Traits = conv::BwdWeightTraits;
    using Plan = conv::BwdWeightPlan;
    template <class DataType>
    using Reference = reference::ReferenceConvBwdWeight<DataType>;

    static constexpr bool packed_output = true;

    static conv::Extents extents(const conv::ProblemSizes& p, bool exchange) {
        if(exchange)  // the weight gradient of the convolution from the output to the input
            return {p.c, p.k, p.taps(), p.input_positions(), 0};
        return {p.k, p.c, p.taps(), p.output_positions(), 0};
    }
    static Plan make_plan(const Traits& traits, const conv::Problem& problem, const conv::Fusion& fusion,
                          const conv::Addresses& at, int compute_units) {
        return conv::make_plan(traits, problem, fusion, at, compute_units);
    }
    static void place(conv::BwdWeightArgs& args, const conv::Addresses& at) {
        args.in = static_cast<const char*>(at.in);
        args.wei = static_cast<char*>(const_cast<void*>(at.wei));
        args.out = static_cast<const char*>(at.out);
    }
};

// Sums the f32 partials of all splits into the weight. reduce.cpp defines it once per weight type.
template <class Wei>
void reduce_partials(const float* partial, void* wei, int64 elements, int split_k, platform::Stream stream);

}  // namespace ckgen::tensor_operation::device
