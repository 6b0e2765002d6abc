// Planning of backward data: D tensors.
#include <climits>

#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/fusion_checks.hpp"

namespace ckgen::conv {

std::string check_d_positions(const BwdDataTraits& t, const Problem& p, const Fusion& fusion) {
    if(t.conv_spec == ConvSpec::Default)
        return {};
    for(std::size_t i = 0; i < t.d.size(); ++i) {
        const std::string name = "D" + std::to_string(i);
        const Pointwise positions(spread(t.d[i], fusion.d[i].shape, p.ndim), p.in.lengths, p.ndim, t.order);
        if(!positions.possible)
            return refuse("conv-spec", name + " has gaps between positions or repeats some of them; " +
                                           "Filter1x1Stride1Pad0 needs them one after the other, or one value per " +
                                           "channel");
        const std::string reason = check_position_stride(name, positions, t.d[i].bytes);
        if(!reason.empty())
            return reason;
    }
    return {};
}

std::string check_position_stride(const std::string& name, const Pointwise& positions, int bytes) {
    if(positions.stride > INT_MAX / bytes)
        return refuse("inner-stride", "positions of " + name + " are " + number(positions.stride) +
                                          " elements apart, more than 2^31 bytes");
    return {};
}

BwdDataTensor d_tensor(const BwdDataTraits& t, const DTensorTraits& traits, const Problem& p, const DTensor& d) {
    const Tensor shape = spread(traits, d.shape, p.ndim);
    const int32 channel = position_stride(shape.strides[2]);
    BwdDataTensor result{static_cast<const char*>(d.data), {shape.strides[0], shape.strides[1], {}, channel}};
    for(int i = 0; i < p.ndim; ++i)
        result.strides.position[i] = position_stride(shape.strides[3 + i]);
    if(t.conv_spec == ConvSpec::Filter1x1Stride1Pad0) {
        if(Pointwise::joins_images(t.order, p.ndim))
            result.strides.image = 0;
        result.strides.position[0] = position_stride(Pointwise(shape, p.in.lengths, p.ndim, t.order).stride);
    }
    return result;
}

}  // namespace ckgen::conv
