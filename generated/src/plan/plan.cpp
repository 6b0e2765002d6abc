// Copied by ckgen from templates/src/plan/plan.cpp. Do not edit; run: ckgen generate
// Checks of a problem that both operations need and that depend on the instance.
#include "ckgen/plan/plan.hpp"

#include <algorithm>
#include <array>

namespace ckgen::conv {

std::string check_problem(const InstanceTraits& t, const Problem& p) {
    if(p.ndim != t.ndim)
        return refuse("ndim",
                      "the problem has " + number(p.ndim) + " spatial dimensions, the instance " + number(t.ndim));
    std::string reason = invalid_reason(p, t.order);
    if(reason.empty() && p.split_k != -1 && (p.split_k < 1 || p.split_k > 65536))
        reason = refuse("split-k", "split_k is " + number(p.split_k) + ", not -1 or 1..65536");
    return reason;
}

std::string check_pointwise(const InstanceTraits& t, const Problem& p) {
    if(t.conv_spec == ConvSpec::Default || is_pointwise(p))
        return {};
    return refuse("conv-spec", "Filter1x1Stride1Pad0 needs filter 1, stride 1, pad 0 in every dimension");
}

std::string check_vectors(const InstanceTraits& t, const Problem& p, const Addresses& at) {
    const auto aligned = [](const char* rule, const char* what, const void* address, int bytes) {
        return check_multiple(rule, what, address_of(address), std::min(16, bytes));
    };
    const char* in_rule = t.writes_input ? "c-vector" : "b-vector";
    const char *in = "the input address", *wei = "the weight address";
    const std::string none;
    for(const std::string& reason : {
            // TMA fills the channels past K with zeros, and the output is copied where rows are not multiples of 16
            // bytes.
            t.tma ? none : check_multiple("a-vector", "K", p.out_channels(), t.a_vector),
            check_multiple("b-vector", "C", p.in_channels(), t.b_vector),
            check_multiple("c-vector", "C", p.in_channels(), t.c_vector),
            t.tma ? none : check_strides_multiple("a-vector", "an output stride", p.out, p.ndim, t.a_vector),
            check_strides_multiple(in_rule, "an input stride", p.in, p.ndim, t.writes_input ? t.c_vector : t.b_vector),
            aligned("a-alignment", "the output address", at.out, t.a_vector * t.elem_bytes),
            aligned("b-alignment", t.writes_input ? wei : in, t.writes_input ? at.wei : at.in,
                    t.b_vector * t.elem_bytes),
            aligned("c-alignment", t.writes_input ? in : wei, t.writes_input ? at.in : at.wei,
                    t.c_vector * t.written_bytes),
        })
        if(!reason.empty())
            return reason;
    return {};
}

std::string check_walk(int ndim, int dimension, int64 lowest, int64 highest, int64 tap) {
    // Limits of cuTensorMapEncodeIm2col (CUDA driver API), by the number of dimensions.
    const int64 corner = std::array<int64, 3>{32767, 127, 15}.at(static_cast<std::size_t>(ndim - 1));
    const int64 furthest = std::array<int64, 3>{65535, 255, 31}.at(static_cast<std::size_t>(ndim - 1));
    if(std::max({-lowest, lowest, -highest, highest}) <= corner && tap <= furthest)
        return {};
    return refuse("tma-limits", "padding or the filter's extent of dimension " + number(dimension) +
                                    " is beyond what a tensor map can describe (" + number(corner) + " and " +
                                    number(furthest) + ")");
}

}  // namespace ckgen::conv
