// Copied by ckgen from templates/src/plan/fusion_checks.cpp. Do not edit; run: ckgen generate
// Planning of every operation: functions and D tensors.
#include "ckgen/plan/fusion_checks.hpp"

#include <algorithm>
#include <climits>

namespace ckgen::conv {

// Refuses strides in bytes inside an image that exceed 31 bits.
std::string check_inner_strides(const std::string& name, const Tensor& tensor, int ndim, int bytes) {
    for(int index = 2; index < 3 + ndim; ++index)
        if(tensor.lengths[index] > 1 && tensor.strides[index] > INT_MAX / bytes)
            return refuse("inner-stride", name + " stride " + number(index) + " is " + number(tensor.strides[index]) +
                                              ", more than 2^31 bytes");
    return {};
}

// A D tensor with stride 0 in every dimension that is broadcast.
Tensor spread(const DTensorTraits& traits, const Tensor& tensor, int ndim) {
    Tensor result = tensor;
    for(int index = 0; index < 3 + ndim; ++index)
        if(tensor.lengths[index] == 1 || (traits.one_a_channel && index != 0 && index != 2))
            result.strides[index] = 0;
    return result;
}

namespace {

// Lengths are the result's or 1, and strides fit the arithmetic of the kernel and the tensor's layout.
std::string check_extents(const DTensorTraits& traits, const Problem& p, TensorName written, const Tensor& shape,
                          const std::string& name) {
    const Tensor& result = p.tensor(written);
    int64 reach = 0;
    for(int i = 0; i < 3 + p.ndim; ++i) {
        const int64 length = shape.lengths[i];
        const int64 stride = shape.strides[i];
        const bool spreads = i != 2 && length == 1;
        if(length != result.lengths[i] && !spreads)
            return refuse("d-shape", name + " length " + number(i) + " is " + number(length) + ", the " +
                                         word_of(written) + "'s is " + number(result.lengths[i]) +
                                         (i == 2 ? "" : "; 1 repeats one value"));
        if(stride < 0 || stride > kMaxStride)
            return refuse("overflow",
                          name + " stride " + number(i) + " is " + number(stride) + ", outside 0..2^40 elements");
        reach += length > 1 ? std::min(kMaxStride, (length - 1) <= kMaxStride / std::max<int64>(stride, 1)
                                                       ? (length - 1) * stride
                                                       : kMaxStride)
                            : 0;
        if(traits.one_a_channel && i != 0 && i != 2 && length > 1 && stride != 0)
            return refuse("d-layout", name + " has layout " + traits.layout + ", one value per channel, but stride " +
                                          number(i) + " is " + number(stride));
    }
    if(reach > kMaxStride)
        return refuse("overflow", name + " reaches over more than 2^40 elements");
    return check_inner_strides(name, shape, p.ndim, traits.bytes);
}

constexpr int kMostChannels = 8;  // of a D tensor that a thread reads with an offset of 32 bits

// A kernel whose result has its channels last reads vectors of channels that are adjacent and aligned. `shape` is
// broadcast.
std::string check_d_vectors(const InstanceTraits& t, const DTensorTraits& traits, const Problem& p, const Tensor& shape,
                            const void* data, const std::string& name) {
    if(traits.channels_last && p.in_channels() > 1 && shape.strides[2] != 1)
        return refuse("d-layout", name + " stride of channels is " + number(shape.strides[2]) + ", its layout " +
                                      traits.layout + " needs 1");
    const bool vectors = traits.channels_last && channels_last(t.order.of(t.roles.c), p.ndim);
    if(!vectors && p.in_channels() > 1 && shape.strides[2] > INT_MAX / kMostChannels)
        return refuse("inner-stride", name + " stride of channels is " + number(shape.strides[2]) + ", more than 2^28");
    const int vector = vectors ? std::min(t.c_vector, 16 / traits.bytes) : 1;
    std::string reason = check_strides_multiple("d-vector", (name + " stride").c_str(), shape, p.ndim, vector);
    if(reason.empty())
        reason = check_multiple("d-alignment", (name + " address").c_str(), address_of(data), vector * traits.bytes);
    return reason;
}

// A D tensor may be the result itself, which the kernel then reads and writes in place.
std::string check_alias(const InstanceTraits& t, const DTensorTraits& traits, const Problem& p, const Tensor& shape,
                        const std::string& name) {
    const Tensor& result = p.tensor(t.roles.c);
    for(int i = 0; i < 3 + p.ndim; ++i)
        if(traits.bytes != t.written_bytes || (result.lengths[i] > 1 && shape.strides[i] != result.strides[i]))
            return refuse("d-alias",
                          name + " is the " + word_of(t.roles.c) + " itself with another type or other strides");
    return {};
}

std::string check_d(const InstanceTraits& t, const Problem& p, const Fusion& fusion, std::size_t index,
                    const void* result) {
    const DTensorTraits& traits = t.d[index];
    const DTensor& d = fusion.d[index];
    const std::string name = "D" + std::to_string(index);
    std::string reason = check_extents(traits, p, t.roles.c, d.shape, name);
    if(!reason.empty())
        return reason;
    const Tensor shape = spread(traits, d.shape, p.ndim);
    reason = check_d_vectors(t, traits, p, shape, d.data, name);
    if(!reason.empty())
        return reason;
    return d.data != nullptr && d.data == result ? check_alias(t, traits, p, shape, name) : "";
}

}  // namespace

std::string check_fusion(const InstanceTraits& t, const Problem& p, const Fusion& fusion, const void* result) {
    if(fusion.d.size() != t.d.size())
        return refuse("d-count", "the function has " + std::to_string(t.d.size()) + " D tensors, " +
                                     std::to_string(fusion.d.size()) + " are given");
    if(!fusion.scalars.empty() && fusion.scalars.size() != static_cast<std::size_t>(t.scalars))
        return refuse("scalars", "the function has " + number(t.scalars) + " scalars, " +
                                     std::to_string(fusion.scalars.size()) + " are given");
    for(std::size_t i = 0; i < t.d.size(); ++i) {
        const std::string reason = check_d(t, p, fusion, i, result);
        if(!reason.empty())
            return reason;
    }
    return {};
}

}  // namespace ckgen::conv
