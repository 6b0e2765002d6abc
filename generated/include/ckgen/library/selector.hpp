// Copied by ckgen from templates/include/ckgen/library/selector.hpp. Do not edit; run: ckgen generate
// Selects an instance for a problem. The order of preference: the instance measured on this problem, the one that is
// fastest by the model of time, the one that a rule chooses, the generic one. ckgen/selection/candidates.py describes
// the chain of candidates and computes the same one in Python.
//
//     using namespace ckgen::tensor_operation::device::instance;
//     const SelectedInstance best = SelectInstance<ckgen::layout::NHWGC_GKYXC_NHWGK, ckgen::dtype::f16>(problem);
//     for(auto& op : DeviceOperationInstanceFactory<Op>::GetInstances())
//         if(op->GetIdentity() == best.identity) ...  // MakeArgumentPointer(..., best.split_k)
//
// The selector is part of the whole library (ckgen_conv::ckgen_conv); the library of one operation has none.
#pragma once

#include <string>
#include <vector>

#include "ckgen/config/operations.hpp"
#include "ckgen/conv/fusion.hpp"

namespace ckgen::tensor_operation::device::instance {

enum class SelectedBy { Measured = 0, Model = 1, Rule = 2, Generic = 3, Predicted = 4 };

struct SelectedInstance {
    std::string identity;
    int index;        // in the registry, as in the C API
    index_t split_k;  // -1: the operator chooses
    SelectedBy source;
    float microseconds;  // of this problem, measured or predicted; 0: unknown
};

struct SelectionQuery {
    conv::Problem problem;                             // its split_k is ignored
    conv::Fusion fusion;                               // for operations with a function
    std::string operation = operations::default_name;  // one of ckgen/config/operations.hpp
    std::string layout;                                // "NHWGC/GKYXC/NHWGK", in this order for every operation
    std::string dtype;                                 // "f16"
    std::string function = "PassThrough";
    std::string arch;  // "sm_90a", "gfx942", "host"; empty: the current device's
    const void *p_in = nullptr, *p_wei = nullptr, *p_out = nullptr;  // null: alignment is not checked
};

// Instances of this library that support the problem with the split_k of each result, best first, at most `most`. If
// there is none, *reason is why the last candidate was refused.
std::vector<SelectedInstance> SelectInstances(const SelectionQuery& query, std::size_t most,
                                              std::string* reason = nullptr);

// The best instance for a layout triple (ckgen::layout) and a data type set (ckgen::dtype), for backward weight unless
// the operation is given. Throws std::invalid_argument with the last candidate's reason if no instance supports the
// problem.
SelectedInstance SelectInstance(const SelectionQuery& query);
template <class Layout, class DataType>
SelectedInstance SelectInstance(const conv::Problem& problem, const char* operation = operations::default_name) {
    SelectionQuery query;
    query.problem = problem;
    query.operation = operation;
    query.layout = std::string(Layout::In::name) + "/" + Layout::Wei::name + "/" + Layout::Out::name;
    query.dtype = DataType::name;
    return SelectInstance(query);
}

}  // namespace ckgen::tensor_operation::device::instance
