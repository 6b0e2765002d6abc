// Copied by ckgen from templates/src/plan/plan.cpp. Do not edit; run: ckgen generate
// Checks of a problem that every operation needs and that depend on the instance.
#include "ckgen/plan/plan.hpp"

#include <algorithm>
#include <array>
#include <climits>

namespace ckgen::conv {
namespace {

// The memory order of a problem for an instance. Kernels that address by strides alone take such tensors: CK's client
// for f16 computed in bf8 and f8 (client_example/11) has them in layout NDHWGC.
MemoryOrder order_of(const InstanceTraits& t, const Problem& p) {
    MemoryOrder order = t.order;
    if(t.tma || t.is_halo() || t.is_depthwise())
        return order;
    order.in = by_groups(order.in, p.in, p.ndim);
    order.out = by_groups(order.out, p.out, p.ndim);
    return order;
}

}  // namespace

std::string check_problem(const InstanceTraits& t, const Problem& p) {
    if(p.ndim != t.ndim)
        return refuse("ndim",
                      "the problem has " + number(p.ndim) + " spatial dimensions, the instance " + number(t.ndim));
    std::string reason = invalid_reason(p, order_of(t, p));
    if(reason.empty() && p.split_k != -1 && (p.split_k < 1 || p.split_k > 65536))
        reason = refuse("split-k", "split_k is " + number(p.split_k) + ", not -1 or 1..65536");
    return reason;
}

std::string check_pointwise(const InstanceTraits& t, const Problem& p) {
    if(t.conv_spec == ConvSpec::Default || is_pointwise(p))
        return {};
    return refuse("conv-spec", "Filter1x1Stride1Pad0 needs filter 1, stride 1, pad 0 in every dimension");
}

const char* word_of(TensorName tensor) {
    return tensor == TensorName::in ? "input" : tensor == TensorName::wei ? "weight" : "output";
}

namespace {

// Refuses a tensor whose contiguous elements are not a multiple of the vector: its channels (the weight's are C), or
// the positions of an image, or taps and channels of a weight.
std::string check_run(const InstanceTraits& t, const Problem& p, const char* rule, TensorName tensor, int vector) {
    const bool k = tensor == TensorName::out;
    if(channels_last(t.order.of(tensor), p.ndim))
        return check_multiple(rule, k ? "K" : "C", k ? p.out_channels() : p.in_channels(), vector);
    if(tensor == TensorName::wei)
        return check_multiple(rule, "C * taps", p.in_channels() * p.taps(), vector);
    int64 positions = 1;
    for(int d = 0; d < p.ndim; ++d)
        positions *= p.tensor(tensor).lengths[3 + d];
    return check_multiple(rule, k ? "the number of output positions" : "the number of input positions", positions,
                          vector);
}

// Refuses strides at which vectors would not be aligned; where channels are not last, also gaps between positions.
std::string check_gaps(const InstanceTraits& t, const Problem& p, const char* rule, TensorName name, int vector) {
    const bool in = name == TensorName::in;
    const Tensor& tensor = p.tensor(name);
    if(channels_last(t.order.of(name), p.ndim))
        return check_strides_multiple(rule, in ? "an input stride" : "an output stride", tensor, p.ndim, vector);
    if(vector == 1)
        return {};
    for(int index = 0; index < 3; ++index)
        if(tensor.lengths[index] > 1 && tensor.strides[index] % vector != 0)
            return check_multiple(rule, in ? "an input stride" : "an output stride", tensor.strides[index], vector);
    return check_axes(in ? "input" : "output", tensor, p.ndim, t.order.of(name), true);
}

}  // namespace

bool copies_weight(const InstanceTraits& t, const Problem& p) {
    const bool moves_channels = p.taps() > 1 && !channels_last(t.order.wei, p.ndim);
    if(t.copies_weight && (moves_channels || p.in_channels() % t.b_vector != 0))
        return true;
    return t.aligns_weight && gains_by_aligned_weight(p.groups(), p.out_channels(), p.in_channels(), p.taps(),
                                                      p.gemm_k(), t.m_per_block, t.elem_bytes);
}

std::string check_vectors(const InstanceTraits& t, const Problem& p, const Addresses& at) {
    struct Role {
        const char *vector_rule, *alignment_rule;
        TensorName tensor;
        int vector, bytes;
        bool copied;  // TMA fills the channels past the end of a row with zeros, and reads a copy of rows that do not
                      // fit
    };
    const std::array<Role, 3> roles{{
        {"a-vector", "a-alignment", t.roles.a, t.row_vector > 1 ? 1 : t.a_vector, t.elem_bytes,
         t.tma && !t.copies_planes()},
        {"b-vector", "b-alignment", t.roles.b, copies_weight(t, p) ? 1 : t.b_vector, t.elem_bytes, t.copies_input},
        {"c-vector", "c-alignment", t.roles.c, t.c_vector, t.written_bytes, false},
    }};
    std::string reason;
    for(const Role& role : roles)
        if(reason.empty() && !role.copied)
            reason = check_run(t, p, role.vector_rule, role.tensor, role.vector);
    for(const Role& role : roles)
        if(reason.empty() && !role.copied && role.tensor != TensorName::wei)  // the weight has no gaps
            reason = check_gaps(t, p, role.vector_rule, role.tensor, role.vector);
    for(const Role& role : roles) {
        // A tensor map describes memory from a multiple of 16 bytes on. A weight has vectors of as many, or is copied.
        const bool mapped = t.tma && role.tensor != TensorName::wei && role.tensor != t.roles.c;
        // wgmma's 16-bit weights are stored in lines of 16 bytes.
        const bool lines = t.tma && !t.is_halo() && !t.copies_planes() && role.tensor == TensorName::wei &&
                           role.tensor == t.roles.c && role.bytes == 2;
        const int bytes = mapped || lines ? 16 : std::min(16, role.vector * role.bytes);
        if(reason.empty())
            reason =
                check_multiple(role.alignment_rule, (std::string("the ") + word_of(role.tensor) + " address").c_str(),
                               address_of(at.of(role.tensor)), bytes);
    }
    return reason;
}

std::string check_planes(const InstanceTraits& t, const Tensor& tensor) {
    for(int index = 0; index < 3; ++index)
        if(tensor.lengths[index] > 1 && tensor.strides[index] >= (int64{1} << 40) / t.elem_bytes)
            return refuse("tma-limits", "groups, images or channels are 2^40 or more bytes apart");
    if(tensor.lengths[kChannels] > 1 && tensor.strides[kChannels] > INT_MAX / t.elem_bytes)
        return refuse("tma-limits",
                      "channels are " + number(tensor.strides[kChannels]) + " elements apart, more than 2^31 bytes");
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
