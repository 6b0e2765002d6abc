// Copied by ckgen from templates/src/plan/problem_checks.cpp. Do not edit; run: ckgen generate
// Checks of a problem that every operation needs. Each refusal names its rule in brackets and quotes the numbers.
#include "ckgen/plan/problem_checks.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>

namespace ckgen::conv {

std::string number(int64 value) { return std::to_string(value); }

std::string refuse(const char* rule, const std::string& sentence) { return std::string("[") + rule + "] " + sentence; }

bool multiply(int64& value, int64 factor) { return !__builtin_mul_overflow(value, factor, &value); }

namespace {

std::string check_lengths(const Problem& p) {
    if(p.ndim < 1 || p.ndim > 3)
        return refuse("ndim", "ndim is " + number(p.ndim) + ", not 1, 2 or 3");
    const Tensor* tensors[] = {&p.in, &p.wei, &p.out};
    const char* names[] = {"input", "weight", "output"};
    for(int t = 0; t < 3; ++t) {
        int64 elements = 16;  // an upper bound on bytes, with room for the widest type
        int64 reach = 0;
        for(int d = 0; d < 3 + p.ndim; ++d) {
            const int64 length = tensors[t]->lengths[d];
            if(length < 1 || length > INT_MAX)
                return refuse("lengths", std::string(names[t]) + " length " + number(d) + " is " + number(length) +
                                             ", outside 1..2147483647");
            if(!multiply(elements, length))
                return refuse("overflow", std::string(names[t]) + " has more bytes than 64 bits count");
            const int64 stride = tensors[t]->strides[d];
            if(stride < 0 || stride > kMaxStride)
                return refuse("overflow", std::string(names[t]) + " stride " + number(d) + " is " + number(stride) +
                                              ", outside 0..2^40 elements");
            const bool near = length - 1 <= kMaxStride / std::max<int64>(stride, 1);
            reach += near ? (length - 1) * stride : kMaxStride;
            if(reach > kMaxStride)
                return refuse("overflow", std::string(names[t]) + " reaches over more than 2^40 elements");
        }
    }
    return {};
}

std::string check_agreement(const Problem& p) {
    const auto same = [](const char* what, int64 a, int64 b) -> std::string {
        return a == b ? "" : refuse("shapes", std::string(what) + ": " + number(a) + " and " + number(b) + " differ");
    };
    for(const std::string& reason : {same("groups of input and weight", p.in.lengths[0], p.wei.lengths[0]),
                                     same("groups of input and output", p.in.lengths[0], p.out.lengths[0]),
                                     same("images of input and output", p.in.lengths[1], p.out.lengths[1]),
                                     same("channels C of input and weight", p.in.lengths[2], p.wei.lengths[2]),
                                     same("channels K of weight and output", p.wei.lengths[1], p.out.lengths[2])})
        if(!reason.empty())
            return reason;
    for(int d = 0; d < p.ndim; ++d) {
        const int64 limit = 1 << 24;
        if(p.strides[d] < 1 || p.dilations[d] < 1 || p.strides[d] > limit || p.dilations[d] > limit)
            return refuse("strides", "stride " + number(p.strides[d]) + " or dilation " + number(p.dilations[d]) +
                                         " of dimension " + number(d) + " is outside 1..16777216");
        if(p.left_pads[d] < 0 || p.right_pads[d] < 0 || p.left_pads[d] > limit || p.right_pads[d] > limit)
            return refuse("pads", "pads " + number(p.left_pads[d]) + ", " + number(p.right_pads[d]) + " of dimension " +
                                      number(d) + " are outside 0..16777216");
        const int64 span = (p.wei.lengths[3 + d] - 1) * p.dilations[d] + 1;
        const int64 room = p.in.lengths[3 + d] + p.left_pads[d] + p.right_pads[d] - span;
        const int64 expected = room < 0 ? 0 : room / p.strides[d] + 1;
        if(p.out.lengths[3 + d] != expected)
            return refuse("output-size", "output length of dimension " + number(d) + " is " +
                                             number(p.out.lengths[3 + d]) + ", the convolution gives " +
                                             number(expected));
        const int64 walk = p.out.lengths[3 + d] * p.strides[d] + span + p.left_pads[d] + p.right_pads[d];
        if(walk > (int64{1} << 50) / std::max<int64>(p.in.strides[3 + d], 1))
            return refuse("overflow",
                          "padding and taps of dimension " + number(d) + " reach over more than 2^50 elements");
        if(p.out.lengths[3 + d] * p.strides[d] + span > (int64{1} << 29) || p.in.lengths[3 + d] > (int64{1} << 29))
            return refuse("spatial-size", "dimension " + number(d) + " is longer than 2^29 positions");
    }
    return {};
}

void set_unit_strides(Tensor& t, Axes axes, int count) {
    std::reverse(axes.begin(), axes.begin() + count);  // from the innermost outwards
    int64 inner = 1;
    for(int at = 0; at < count; ++at) {
        int64& stride = t.strides[axes[at]];
        if(t.lengths[axes[at]] == 1) {
            const auto longer =
                std::find_if(axes.begin() + at, axes.begin() + count, [&](int axis) { return t.lengths[axis] != 1; });
            stride = at == 0 || longer == axes.begin() + count ? inner : t.strides[*longer];
        }
        int64 past = stride;
        inner = multiply(past, t.lengths[axes[at]]) ? std::max(inner, past) : kMaxStride;
    }
}

// The names of a weight's axes, for example "G, K, filter, C".
std::string weight_axes(const Axes& axes, int ndim) {
    std::string names;
    for(int at = 0; at < 3 + ndim; ++at) {
        const int axis = axes[at];
        if(axis < 3 || at == 0 || axes[at - 1] < 3)
            names += (at == 0 ? "" : ", ") +
                     std::string(std::array<const char*, 4>{"G", "K", "C", "filter"}[std::min(axis, 3)]);
    }
    return names;
}

std::string check_weight_strides(const Problem& p, const Axes& axes) {
    int64 inner = 1;
    for(int at = 2 + p.ndim; at >= 0; --at) {
        const int axis = axes[at];
        const int64 stride = p.wei.strides[axis];
        const bool wrong = p.wei.lengths[axis] > 1 && stride != inner;
        if(wrong && axis == kChannels && inner == 1)
            return refuse("strides-layout", "weight stride of channels is " + number(stride) + ", not 1");
        if(wrong)
            return refuse("strides-layout", "weight must be packed " + weight_axes(axes, p.ndim) +
                                                ": stride of index " + number(axis) + " is " + number(stride) +
                                                ", not " + number(inner));
        inner *= p.wei.lengths[axis];
    }
    return {};
}

}  // namespace

Axes by_groups(const Axes& axes, const Tensor& tensor, int ndim) {
    if(!channels_last(axes, ndim) || groups_outermost(axes) || tensor.lengths[0] <= 1)
        return axes;
    double group = 0;  // elements over which the positions of a group reach
    for(int index = 1; index < 3 + ndim; ++index)
        if(index != kChannels && tensor.lengths[index] > 1)
            group = std::max(group,
                             static_cast<double>(tensor.lengths[index]) * static_cast<double>(tensor.strides[index]));
    if(group == 0 || static_cast<double>(tensor.strides[0]) < group)
        return axes;
    Axes outermost = axes;
    std::stable_partition(outermost.begin(), outermost.begin() + 3 + ndim, [](int axis) { return axis == 0; });
    return outermost;
}

Problem with_unit_strides(Problem p, const MemoryOrder& order) {
    if(p.ndim < 1 || p.ndim > 3)
        return p;
    set_unit_strides(p.in, by_groups(order.in, p.in, p.ndim), 3 + p.ndim);
    set_unit_strides(p.out, by_groups(order.out, p.out, p.ndim), 3 + p.ndim);
    return p;
}

std::string shapes_reason(const Problem& p) {
    const std::string reason = check_lengths(p);
    return reason.empty() ? check_agreement(p) : reason;
}

std::string check_strides(const char* name, const Tensor& t, int ndim, bool groups_outermost, bool packed_positions) {
    const auto wrong = [&](const char* what, int64 is, int64 should) {
        return refuse("strides-layout", std::string(name) + " stride of " + what + " is " + number(is) +
                                            ", its layout needs " + number(should));
    };
    if(t.strides[2] != 1 && t.lengths[2] > 1)
        return wrong("channels", t.strides[2], 1);
    int64 inner = t.lengths[2];
    if(!groups_outermost) {
        if(t.lengths[0] > 1 && t.strides[0] < inner)
            return wrong("groups (at least)", t.strides[0], inner);
        inner = std::max(inner, t.lengths[0] > 1 ? (t.lengths[0] - 1) * t.strides[0] + t.lengths[2] : inner);
    }
    for(int d = ndim - 1; d >= -1; --d) {
        const int index = d < 0 ? 1 : 3 + d;
        const bool first = d == ndim - 1;
        if(t.lengths[index] > 1 && (packed_positions && !first ? t.strides[index] != inner : t.strides[index] < inner))
            return wrong(d < 0 ? "images" : "a spatial dimension", t.strides[index], inner);
        // The stride of a dimension of length 1 means nothing, except that of the innermost: the distance between
        // positions.
        if(t.lengths[index] > 1)
            inner = t.strides[index] * t.lengths[index];
        else if(first)
            inner = std::max(inner, t.strides[index]);
    }
    if(groups_outermost && t.lengths[0] > 1 && t.strides[0] < inner)
        return wrong("groups (at least)", t.strides[0], inner);
    return {};
}

std::string check_multiple(const char* rule, const char* what, int64 value, int vector) {
    return value % vector == 0 ? ""
                               : refuse(rule, std::string(what) + " " + number(value) +
                                                  " is not a multiple of the vector " + number(vector));
}

std::string check_strides_multiple(const char* rule, const char* what, const Tensor& tensor, int ndim, int vector) {
    for(int index = 0; index < 3 + ndim; ++index)
        if(index != 2 && tensor.lengths[index] > 1 && tensor.strides[index] % vector != 0)
            return check_multiple(rule, what, tensor.strides[index], vector);
    return {};
}

bool is_pointwise(const Problem& p) {
    for(int d = 0; d < p.ndim; ++d)
        if(p.wei.lengths[3 + d] != 1 || p.strides[d] != 1 || p.left_pads[d] != 0 || p.right_pads[d] != 0)
            return false;
    return true;
}

int64 fill_twice(int64 tiles, int64 k_tiles, int unit, int64 compute_units) {
    constexpr int64 most_splits = 128;
    const int64 most = std::max<int64>(1, k_tiles / (4 * int64{unit}));
    return std::clamp<int64>(divide_up(2 * compute_units, tiles), 1, std::min(most, most_splits));
}

int64 sums_of(bool truncates, int64 terms) {
    const double root = std::sqrt(static_cast<double>(terms));
    return truncates ? std::max<int64>(1, static_cast<int64>(std::ceil(root / 90.))) : 1;
}

std::string check_axes(const char* name, const Tensor& t, int ndim, const Axes& axes, bool packed_positions) {
    int64 inner = 1;
    for(int at = 0; at < 3 + ndim; ++at) {
        const int index = axes[2 + ndim - at];
        if(t.lengths[index] == 1)
            continue;
        const bool exact = at == 0 || (packed_positions && index > kChannels);
        if(t.strides[index] < inner || (exact && t.strides[index] != inner))
            return refuse("strides-layout", std::string(name) + " stride " + number(index) + " is " +
                                                number(t.strides[index]) + ", its layout needs " + number(inner) +
                                                (exact ? "" : " at least"));
        inner = t.strides[index] * t.lengths[index];
    }
    return {};
}

std::string invalid_reason(const Problem& p, const MemoryOrder& order) {
    const auto check = [&](const char* name, const Tensor& t, const Axes& axes, bool packed) {
        return channels_last(axes, p.ndim) ? check_strides(name, t, p.ndim, groups_outermost(axes), packed)
                                           : check_axes(name, t, p.ndim, axes, packed);
    };
    std::string reason = shapes_reason(p);
    if(reason.empty())
        reason = check("input", p.in, order.in, false);
    if(reason.empty())
        reason = check("output", p.out, order.out, order.packed_output);
    if(reason.empty())
        reason = check_weight_strides(p, order.wei);
    return reason;
}

}  // namespace ckgen::conv
