// Copied by ckgen from templates/include/ckgen/op/bwd_data.hpp. Do not edit; run: ckgen generate
// Backward data as the planned operation that op/planned.hpp is a template over.
#pragma once

#include "ckgen/conv/problem_sizes.hpp"
#include "ckgen/op/planned.hpp"
#include "ckgen/op/reference_conv_bwd_data.hpp"
#include "ckgen/plan/bwd_data_plan.hpp"

namespace ckgen::tensor_operation::device {

struct BwdData : operations::BwdData {
    using Traits = conv::BwdDataTraits;
    using Plan = conv::BwdDataPlan;
    template <class DataType>
    using Reference = reference::ReferenceConvBwdData<DataType>;

    static constexpr bool packed_output = false;

    // As if all positions were in one sub-GEMM.
    static conv::Extents extents(const conv::ProblemSizes& p, bool exchange) {
        const int64 terms = p.product(p.k, [&](int d) { return conv::divide_up(p.filter[d], p.tilde(d)); });
        const int64 positions = p.input_positions();
        return exchange ? conv::Extents{p.c, positions, 1, terms, p.k} : conv::Extents{positions, p.c, 1, terms, p.k};
    }
    static Plan make_plan(const Traits& traits, const conv::Problem& problem, const conv::Fusion& fusion,
                          const conv::Addresses& at, int compute_units) {
        return conv::make_plan(traits, problem, fusion, at, compute_units);
    }
    static void place(conv::BwdDataArgs& args, const conv::Addresses& at) {
        args.target = static_cast<char*>(const_cast<void*>(at.in));
        args.wei = static_cast<const char*>(at.wei);
        args.out = static_cast<const char*>(at.out);
    }
};

}  // namespace ckgen::tensor_operation::device
