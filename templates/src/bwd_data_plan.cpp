// Planning for backward data. Each refusal names its rule in brackets and quotes the numbers.
#include "ckgen/conv/bwd_data_plan.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>

namespace ckgen::conv {
namespace {

constexpr int64 kMostRows = INT_MAX - 4096;   // leaves room for the rows of a tile past the last
constexpr int64 kMaxTileBytes = 0x7ffffff0;   // that a window of global memory has
constexpr int64 kMaxStep = 65535;             // of strides: products of two residues fit 32 bits
constexpr int64 kMaxBlocks = int64{1} << 32;  // and threads

// The same convolution with the positions of all images as one dimension, where they follow each other.
struct Pointwise {
    bool possible = true;
    int64 stride = 0;  // elements from a position to the next

    // `lengths`: those of a tensor that is not broadcast.
    Pointwise(const Tensor& tensor, const std::array<int64, 6>& lengths, int ndim) {
        int64 inner = 1;
        bool first = true;
        for(int index : {5, 4, 3, 1}) {
            if(index > 2 + ndim || lengths[index] == 1)
                continue;
            if(first)
                stride = tensor.strides[index];
            possible = possible && tensor.strides[index] == stride * inner;
            inner *= lengths[index];
            first = false;
        }
    }
};

// A D tensor with stride 0 along what is broadcast.
Tensor spread(const DTensorTraits& traits, const Tensor& tensor, int ndim) {
    Tensor result = tensor;
    for(int index = 0; index < 3 + ndim; ++index)
        if(tensor.lengths[index] == 1 || (traits.one_a_channel && index != 0 && index != 2))
            result.strides[index] = 0;
    return result;
}

// Inside an image, 31 bits hold the strides in bytes.
std::string check_inner_strides(const std::string& name, const Tensor& tensor, int ndim, int bytes) {
    for(int index = 2; index < 3 + ndim; ++index)
        if(tensor.lengths[index] > 1 && tensor.strides[index] > INT_MAX / bytes)
            return refuse("inner-stride", name + " stride " + number(index) + " is " + number(tensor.strides[index]) +
                                              ", more than 2^31 bytes");
    return {};
}

std::string check_d(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, std::size_t index, const void* in) {
    const DTensorTraits& traits = t.d[index];
    const DTensor& d = fusion.d[index];
    const std::string name = "D" + std::to_string(index);
    int64 reach = 0;
    for(int i = 0; i < 3 + p.ndim; ++i) {
        const int64 length = d.shape.lengths[i];
        const int64 stride = d.shape.strides[i];
        const bool spreads = i != 2 && length == 1;
        if(length != p.in.lengths[i] && !spreads)
            return refuse("d-shape", name + " length " + number(i) + " is " + number(length) + ", the input's is " +
                                         number(p.in.lengths[i]) + (i == 2 ? "" : "; 1 repeats one value"));
        if(stride < 0 || stride > kMaxStride)
            return refuse("overflow",
                          name + " stride " + number(i) + " is " + number(stride) + ", outside 0..2^40 elements");
        reach += length > 1 ? std::min(kMaxStride, (length - 1) <= kMaxStride / std::max<int64>(stride, 1)
                                                       ? (length - 1) * stride
                                                       : kMaxStride)
                            : 0;
        if(traits.one_a_channel && i != 0 && i != 2 && length > 1 && stride != 0)
            return refuse("d-layout", name + " has layout " + traits.layout + ", one value a channel, but stride " +
                                          number(i) + " is " + number(stride));
    }
    if(reach > kMaxStride)
        return refuse("overflow", name + " reaches over more than 2^40 elements");
    const std::string far = check_inner_strides(name, d.shape, p.ndim, traits.bytes);
    if(!far.empty())
        return far;
    const Tensor shape = spread(traits, d.shape, p.ndim);
    if(traits.channels_last && p.in_channels() > 1 && shape.strides[2] != 1)
        return refuse("d-layout", name + " stride of channels is " + number(shape.strides[2]) + ", its layout " +
                                      traits.layout + " needs 1");
    const int vector = traits.channels_last ? std::min(t.c_vector, 16 / traits.bytes) : 1;
    std::string reason = check_strides_multiple("d-vector", (name + " stride").c_str(), shape, p.ndim, vector);
    if(reason.empty())
        reason = check_multiple("d-alignment", (name + " address").c_str(), address_of(d.data), vector * traits.bytes);
    if(!reason.empty())
        return reason;
    if(t.conv_spec == ConvSpec::Filter1x1Stride1Pad0 && !Pointwise(shape, p.in.lengths, p.ndim).possible)
        return refuse("conv-spec", name + " has gaps between positions or repeats some of them; Filter1x1Stride1Pad0 " +
                                       "needs them one after the other, or one value a channel");
    if(d.data == nullptr || d.data != in)
        return {};
    for(int i = 0; i < 3 + p.ndim; ++i)
        if(traits.bytes != t.in_bytes || (p.in.lengths[i] > 1 && shape.strides[i] != p.in.strides[i]))
            return refuse("d-alias", name + " is the input itself with another type or other strides");
    return {};
}

std::string check_fusion(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, const void* in) {
    if(fusion.d.size() != t.d.size())
        return refuse("d-count", "the function has " + std::to_string(t.d.size()) + " D tensors, " +
                                     std::to_string(fusion.d.size()) + " are given");
    if(!fusion.scalars.empty() && fusion.scalars.size() != static_cast<std::size_t>(t.scalars))
        return refuse("scalars", "the function has " + number(t.scalars) + " scalars, " +
                                     std::to_string(fusion.scalars.size()) + " are given");
    for(std::size_t i = 0; i < t.d.size(); ++i) {
        const std::string reason = check_d(t, p, fusion, i, in);
        if(!reason.empty())
            return reason;
    }
    return {};
}

std::string check_vectors(const BwdDataTraits& t, const Problem& p, const void* in, const void* wei, const void* out) {
    for(const std::string& reason : {
            check_multiple("a-vector", "K", p.out_channels(), t.a_vector),
            check_multiple("b-vector", "C", p.in_channels(), t.b_vector),
            check_multiple("c-vector", "C", p.in_channels(), t.c_vector),
            check_strides_multiple("a-vector", "an output stride", p.out, p.ndim, t.a_vector),
            check_strides_multiple("c-vector", "an input stride", p.in, p.ndim, t.c_vector),
            check_multiple("a-alignment", "the output address", address_of(out), t.a_vector * t.elem_bytes),
            check_multiple("b-alignment", "the weight address", address_of(wei),
                           std::min(16, t.b_vector * t.elem_bytes)),
            check_multiple("c-alignment", "the input address", address_of(in), std::min(16, t.c_vector * t.in_bytes)),
        })
        if(!reason.empty())
            return reason;
    return {};
}

std::string check_conv_spec(const BwdDataTraits& t, const Problem& p) {
    if(t.conv_spec != ConvSpec::Filter1x1Stride1Pad0)
        return {};
    if(!is_pointwise(p))
        return refuse("conv-spec", "Filter1x1Stride1Pad0 needs filter 1, stride 1, pad 0 in every dimension");
    if(!Pointwise(p.in, p.in.lengths, p.ndim).possible || !Pointwise(p.out, p.out.lengths, p.ndim).possible)
        return refuse("conv-spec", "Filter1x1Stride1Pad0 needs positions of input and output one after the other");
    return {};
}

// Before sizes are multiplied.
std::string problem_reason(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, const void* in,
                           const void* wei, const void* out) {
    if(p.ndim != t.ndim)
        return refuse("ndim",
                      "the problem has " + number(p.ndim) + " spatial dimensions, the instance " + number(t.ndim));
    std::string reason = invalid_reason(p, {t.groups_outermost, t.channels_last, /*packed_output=*/false});
    if(reason.empty() && p.split_k != -1 && (p.split_k < 1 || p.split_k > 65536))
        reason = refuse("split-k", "split_k is " + number(p.split_k) + ", not -1 or 1..65536");
    for(int d = 0; reason.empty() && d < p.ndim; ++d)
        if(p.strides[d] > kMaxStep)
            reason = refuse("strides",
                            "stride " + number(p.strides[d]) + " of dimension " + number(d) + " is more than 65535");
    if(reason.empty())
        reason = check_inner_strides("input", p.in, p.ndim, t.in_bytes);
    if(reason.empty())
        reason = check_inner_strides("output", p.out, p.ndim, t.elem_bytes);
    if(reason.empty())
        reason = check_conv_spec(t, p);
    if(reason.empty())
        reason = check_vectors(t, p, in, wei, out);
    if(reason.empty())
        reason = check_fusion(t, p, fusion, in);
    return reason;
}

// The number with which a * number is 1 modulo `modulus`; they have no common factor.
int64 inverse_of(int64 a, int64 modulus) {
    int64 x = 0, next = 1, rest = modulus, divisor = a % modulus;
    while(divisor != 0) {
        const int64 times = rest / divisor;
        x = std::exchange(next, x - times * next);
        rest = std::exchange(divisor, rest - times * divisor);
    }
    return modulus == 1 ? 0 : (x % modulus + modulus) % modulus;
}

// Everything about one dimension.
void set_dimension(BwdDataArgs& a, const Problem& p, int d) {
    const int64 common = std::gcd(p.strides[d], p.dilations[d]);
    a.filter[d] = static_cast<int32>(p.wei.lengths[3 + d]);
    a.stride[d] = static_cast<int32>(p.strides[d]);
    a.dilation[d] = static_cast<int32>(p.dilations[d]);
    a.pad[d] = static_cast<int32>(p.left_pads[d]);
    a.out_length[d] = static_cast<int32>(p.out.lengths[3 + d]);
    a.in_length[d] = static_cast<int32>(p.in.lengths[3 + d]);
    a.common[d] = static_cast<int32>(common);
    a.tilde[d] = static_cast<int32>(p.strides[d] / common);
    a.shift[d] = static_cast<int32>(p.dilations[d] / common);
    a.inverse[d] = static_cast<int32>(inverse_of(a.shift[d], a.tilde[d]));
}

bool has_tapless(const BwdDataArgs& a, int ndim) {
    for(int d = 0; d < ndim; ++d)
        for(int i = 0; i < std::min(a.stride[d], a.in_length[d]); ++i)
            if(class_of(a, d, i) < 0)
                return true;
    return false;
}

// How GEMM-K is dealt out: a tile has a part of one tap's channels, or where those are few whole taps of tap_rows, the
// least part of a tile that holds them and is a multiple of a slot.
void set_k_tiles(BwdDataArgs& a, const BwdDataTraits& t) {
    a.k_chunks = ceil_div(a.k, t.k_per_block);
    a.tap_rows = t.k_per_block;
    for(int rows = t.k1; rows < t.k_per_block; rows += t.k1)
        if(t.k_per_block % rows == 0 && rows >= a.k) {
            a.tap_rows = rows;
            break;
        }
    a.tile_taps = t.k_per_block / a.tap_rows;
}

// Taps of the class that has most of them.
int64 most_taps(const BwdDataArgs& a, int ndim) {
    int64 taps = 1;
    for(int d = 0; d < ndim; ++d)
        taps *= ceil_div(a.filter[d], a.tilde[d]);
    return taps;
}

// How many bytes of the output a tile may read before (out_back_bytes) and from its first row's first tap on.
struct Reach {
    int64 back = 0, ahead = 0;

    Reach(const BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
        int64 taps = 0;
        int64 inner_rows = 1, inner_bytes = 0, deepest = 0;
        const auto level = [&](int64 length, int64 least, int64 step) {
            deepest = std::max(deepest, length > 1 ? inner_bytes - step : 0);  // where the dimensions inside start anew
            ahead += std::min<int64>(t.m_per_block / inner_rows + 1, length - 1) * step;
            inner_rows = std::min<int64>(inner_rows * least, t.m_per_block);
            inner_bytes += (length - 1) * step;
        };
        for(int d = ndim - 1; d >= 0; --d) {
            level(ceil_div(a.in_length[d], a.stride[d]), std::max(1, a.in_length[d] / a.stride[d]),
                  a.out_stride_bytes[d]);
            taps += int64{a.shift[d]} * (ceil_div(a.filter[d], a.tilde[d]) - 1) * a.out_stride_bytes[d];
        }
        level(a.images, a.images, a.out_image_bytes);
        back = deepest + taps;
        ahead += int64{a.k} * std::max(a.out_k_bytes, t.elem_bytes) + 16;
    }
};

// Bytes of the weight that a tile may read from its first row on.
int64 weight_reach(const BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
    int64 bytes = t.k_per_block * a.wei_k_bytes + t.n_per_block * t.elem_bytes + 16;
    for(int d = 0; d < ndim; ++d)
        bytes += (a.filter[d] - 1) * a.wei_stride_bytes[d];
    return bytes;
}

// Sizes that 31 bits do not hold are refused; `a` gets everything but what depends on the split.
std::string set_sizes(BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
    int64 rows = a.images, positions = a.images, classes = 1;
    bool fits = true;
    for(int d = 0; d < ndim; ++d) {
        fits = fits && multiply(rows, ceil_div(a.in_length[d], a.stride[d])) && multiply(positions, a.in_length[d]) &&
               multiply(classes, std::min(a.tilde[d], a.filter[d]));
    }
    const bool tapless = has_tapless(a, ndim);
    if(!fits || rows > kMostRows || (tapless && positions > kMostRows))
        return refuse("gemm-m-size", "images * input positions = " + number(fits ? positions : -1) +
                                         " of one GEMM do not fit 31 bits");
    if(classes > kMostRows)
        return refuse("grid-size", "there are " + number(classes) + " sub-GEMMs");
    if(a.n > kMostRows || a.k > kMostRows || most_taps(a, ndim) * a.k_chunks > kMostRows)
        return refuse("k-tiles", "GEMM-K of " + number(a.k) + " channels and " + number(most_taps(a, ndim)) +
                                     " taps has too many tiles");
    a.m_tiles = ceil_div(static_cast<int>(rows), t.m_per_block);
    a.n_tiles = ceil_div(a.n, t.n_per_block);
    a.classes = static_cast<int32>(classes);
    a.tapless_tiles = tapless ? ceil_div(static_cast<int>(positions), t.m_per_block) : 0;
    const Reach reach(a, t, ndim);
    a.out_back_bytes = reach.back;
    if(reach.back + reach.ahead > kMaxTileBytes || weight_reach(a, t, ndim) > kMaxTileBytes)
        return refuse("tile-reach", "what the " + number(t.m_per_block) +
                                        " input positions of a tile read spans more than 2^31 bytes");
    return {};
}

// The stride of a dimension of length 1 may be anything and counts as 0.
int64 stride_of(const Tensor& tensor, int index) { return tensor.lengths[index] > 1 ? tensor.strides[index] : 0; }

// Checked to fit.
int32 position_stride(int64 stride) { return static_cast<int32>(stride); }

// Of partials, which follow each other without gaps.
void set_partial_strides(BwdDataArgs& a, int ndim) {
    int64 elements = a.n;
    for(int d = ndim - 1; d >= 0; --d) {
        a.partial_strides.position[d] = position_stride(elements);
        elements *= a.in_length[d];
    }
    a.partial_strides.channel = 1;
    a.partial_strides.image = elements;
    a.partial_strides.group = elements * a.images;
    a.partial_elements = a.partial_strides.group * a.groups;
}

void set_strides(BwdDataArgs& a, const BwdDataTraits& t, const Problem& p, bool pointwise) {
    const int64 bytes = t.elem_bytes;
    a.out_group_bytes = stride_of(p.out, 0) * bytes;
    a.wei_group_bytes = stride_of(p.wei, 0) * bytes;
    a.wei_k_bytes = stride_of(p.wei, 1) * bytes;
    a.in.group = stride_of(p.in, 0);
    a.in.channel = position_stride(stride_of(p.in, 2));
    a.out_k_bytes = position_stride(stride_of(p.out, 2) * bytes);
    if(pointwise) {
        a.out_stride_bytes[0] = Pointwise(p.out, p.out.lengths, p.ndim).stride * bytes;
        a.in.position[0] = position_stride(Pointwise(p.in, p.in.lengths, p.ndim).stride);
        return;
    }
    a.out_image_bytes = stride_of(p.out, 1) * bytes;
    a.in.image = stride_of(p.in, 1);
    for(int d = 0; d < p.ndim; ++d) {
        a.out_stride_bytes[d] = stride_of(p.out, 3 + d) * bytes;
        a.wei_stride_bytes[d] = stride_of(p.wei, 3 + d) * bytes;
        a.in.position[d] = position_stride(stride_of(p.in, 3 + d));
    }
}

BwdDataTensor d_tensor(const DTensorTraits& traits, const Problem& p, const DTensor& d, bool pointwise) {
    const Tensor shape = spread(traits, d.shape, p.ndim);
    const int32 channel = position_stride(shape.strides[2]);
    BwdDataTensor result{static_cast<const char*>(d.data), {shape.strides[0], shape.strides[1], {}, channel}};
    for(int i = 0; i < p.ndim; ++i)
        result.strides.position[i] = position_stride(shape.strides[3 + i]);
    if(pointwise) {
        result.strides.image = 0;
        result.strides.position[0] = position_stride(Pointwise(shape, p.in.lengths, p.ndim).stride);
    }
    return result;
}

int resolve_split_k(const BwdDataTraits& t, const BwdDataArgs& a, const Problem& p, int ndim, int compute_units) {
    const int64 taps = most_taps(a, ndim);
    const int64 k_tiles = a.tile_taps > 1 ? divide_up(taps, a.tile_taps) : taps * a.k_chunks;
    const int64 least = std::min(sums_of(t.truncates, taps * a.k), k_tiles);
    if(p.split_k > 0)
        return static_cast<int>(std::max<int64>(p.split_k, least));
    int64 tiles = int64{a.m_tiles} * a.n_tiles;
    if(!multiply(tiles, a.groups) || !multiply(tiles, a.classes))
        return static_cast<int>(least);
    return static_cast<int>(std::max(least, fill_twice(tiles, k_tiles, t.tiles_per_half, compute_units)));
}

}  // namespace

BwdDataPlan make_plan(const BwdDataTraits& t, const Problem& p, const Fusion& fusion, const void* in, const void* wei,
                      const void* out, int compute_units) {
    BwdDataPlan plan;
    plan.reason = problem_reason(t, p, fusion, in, wei, out);
    if(!plan.reason.empty())
        return plan;
    const bool pointwise = t.conv_spec == ConvSpec::Filter1x1Stride1Pad0;
    const int ndim = pointwise ? 1 : p.ndim;
    BwdDataArgs a{};
    a.n = static_cast<int32>(p.in_channels());
    a.k = static_cast<int32>(p.out_channels());
    a.groups = static_cast<int32>(p.groups());
    a.images = static_cast<int32>(pointwise ? 1 : p.images());
    if(pointwise && p.gemm_k() > kMostRows) {
        plan.reason = refuse("gemm-m-size", "images * positions = " + number(p.gemm_k()) + " does not fit 31 bits");
        return plan;
    }
    for(int d = 0; d < ndim; ++d)
        set_dimension(a, p, d);
    if(pointwise) {
        a.in_length[0] = a.out_length[0] = static_cast<int32>(p.gemm_k());
        a.dilation[0] = a.shift[0] = 1;
    }
    set_strides(a, t, p, pointwise);
    set_k_tiles(a, t);
    plan.reason = set_sizes(a, t, ndim);
    if(!plan.reason.empty())
        return plan;
    a.split_k = resolve_split_k(t, a, p, ndim, compute_units);
    if(a.split_k > 1)
        a.tapless_tiles = 0;  // the reduction writes them
    int64 tapped = int64{a.m_tiles} * a.n_tiles;
    const bool fits = multiply(tapped, a.groups) && multiply(tapped, a.classes) && multiply(tapped, a.split_k);
    a.tapped_blocks = static_cast<uint32>(fits && tapped < kMaxBlocks ? tapped : 0);
    if(!fits || tapped >= kMaxBlocks || grid_size(a) > kMaxBlocks / t.launch_threads) {
        plan.reason = refuse("grid-size", "the grid would hold more than 2^32 threads");
        return plan;
    }
    if(a.split_k > 1) {
        int64 bytes = int64{4} * a.split_k;
        bool small = multiply(bytes, p.groups()) && multiply(bytes, p.images()) && multiply(bytes, p.in_channels());
        for(int d = 0; d < p.ndim; ++d)
            small = small && multiply(bytes, p.in.lengths[3 + d]);
        if(!small || bytes > (int64{1} << 46)) {
            plan.reason = refuse("workspace-size", "split_k " + number(a.split_k) + " needs more than 2^46 bytes");
            return plan;
        }
        plan.workspace_bytes = bytes;
        set_partial_strides(a, ndim);
    }
    plan.split_k = a.split_k;
    plan.args = a;
    for(std::size_t i = 0; i < t.d.size(); ++i)
        plan.d.push_back(d_tensor(t.d[i], p, fusion.d[i], pointwise));
    return plan;
}

int64 grid_size(const BwdDataArgs& a) { return a.tapped_blocks + int64{a.tapless_tiles} * a.n_tiles * a.groups; }

}  // namespace ckgen::conv
