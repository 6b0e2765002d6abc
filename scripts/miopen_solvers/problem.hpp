// A stand-in for MIOpen, for its code that calls CK: a problem, the functions that read it, and the tensors of a call.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define MIOPEN_BACKEND_HIP 1
#define MIOPEN_USE_COMPOSABLEKERNEL 1
#define MIOPEN_ENABLE_AI_KERNEL_TUNING 0

using Data_t = void*;
using ConstData_t = const void*;
enum miopenDataType_t {
    miopenHalf,
    miopenFloat,
    miopenInt8,
    miopenBFloat16,
    miopenInt32,
    miopenInt64,
    miopenDouble,
    miopenFloat8_fnuz,
    miopenBFloat8_fnuz,
};
enum miopenAlphaBetaCase_t { DEFAULT, SCALE, BILINEAR };

namespace miopen {

inline std::size_t GetTypeSize(miopenDataType_t type) {
    return type == miopenInt8 ? 1 : type == miopenHalf || type == miopenBFloat16 ? 2 : 4;
}
struct TensorDescriptor {  // of a packed tensor
    std::vector<int> lengths, strides;
    miopenDataType_t type = miopenFloat;
    const std::vector<int>& GetLengths() const { return lengths; }
    const std::vector<int>& GetStrides() const { return strides; }
    miopenDataType_t GetType() const { return type; }
    std::size_t GetElementSize() const {
        std::size_t elements = 1;
        for(const int length : lengths)
            elements *= length;
        return elements;
    }
    std::size_t GetNumBytes() const { return GetElementSize() * GetTypeSize(type); }
    static bool IsPacked() { return true; }
};

struct ConvTensors {
    TensorDescriptor xDesc;
    ConstData_t x;
    TensorDescriptor wDesc;
    ConstData_t w;
    TensorDescriptor yDesc;
    ConstData_t y;
};
struct ConvWrwTensors {
    ConstData_t dy;
    ConstData_t x;
    Data_t dw;
    TensorDescriptor dwDesc{};
    operator ConvTensors() const { return {{}, x, {}, dw, {}, dy}; }
};
struct ConvDataTensors {  // of a backward pass: `in` is the gradient that is read, `out` the one that is written
    ConstData_t in;
    ConstData_t w;
    Data_t out;
    operator ConvTensors() const { return {{}, in, {}, w, {}, out}; }
};
struct ConvolutionDescriptor {
    int groups = 1;
};

namespace conv {

enum class Direction { Forward, BackwardData, BackwardWeights };

// Depth, height, width in arrays of three; a 2D problem has depth 1.
struct ProblemDescription {
    using Three = std::array<int, 3>;
    int ndim, G, N, K, C;  // K and C of all groups
    Three filter, input, stride, dilation, left, right;
    miopenDataType_t type;
    miopenAlphaBetaCase_t alpha_beta;
    bool channels_last;
    Direction direction = Direction::BackwardWeights;

    int output(int d) const {
        return (input[d] + left[d] + right[d] - dilation[d] * (filter[d] - 1) - 1) / stride[d] + 1;
    }
    miopenAlphaBetaCase_t GetAlphaBetaCase() const { return alpha_beta; }
    bool IsLayoutNHWC() const { return channels_last; }
    bool IsLayoutDefault() const { return !channels_last; }
    miopenDataType_t GetInDataType() const { return type; }
    miopenDataType_t GetOutDataType() const { return type; }
    miopenDataType_t GetWeightsDataType() const { return type; }
    static bool AllTensorsDimsFitIntoInt() { return true; }
    // A packed tensor with the lengths and strides of N, C and the positions; strides with the channels last.
    TensorDescriptor packed(int outer, int channels, const Three& l) const {
        const int w = channels, h = w * l[2], d = h * l[1], n = d * l[0];
        if(ndim == 3)
            return {{outer, channels, l[0], l[1], l[2]}, {n, 1, d, h, w}, type};
        return {{outer, channels, l[1], l[2]}, {n, 1, h, w}, type};
    }
    // A backward pass begins with the gradient of the output.
    TensorDescriptor GetIn() const { return packed(N, K, {output(0), output(1), output(2)}); }
    TensorDescriptor GetOut() const { return packed(N, C, input); }
    TensorDescriptor GetWeights() const { return packed(K, C / G, filter); }
    int GetInChannels() const { return K; }
    int GetOutChannels() const { return C; }
    std::size_t GetInSize() const { return GetIn().GetNumBytes(); }
    std::size_t GetOutSize() const { return GetOut().GetNumBytes(); }
    std::size_t GetWeightsSize() const { return GetWeights().GetNumBytes(); }
    ConvolutionDescriptor GetConv() const { return {G}; }
    Direction GetDirection() const { return direction; }
};

}  // namespace conv

namespace solver {

struct ProblemInterpreter {
    using Problem = miopen::conv::ProblemDescription;
    static int GetGroupCountG(const Problem& p) { return p.G; }
    static int GetBatchN(const Problem& p) { return p.N; }
    static int GetOutputChannelK(const Problem& p) { return p.K; }
    static int GetInputChannelC(const Problem& p) { return p.C; }
    static miopenDataType_t GetOutputDataType(const Problem& p) { return p.type; }
    static miopenAlphaBetaCase_t GetAlphaBetaCase(const Problem& p) { return p.alpha_beta; }
#define CKGEN_OF_AXIS(AXIS, LOWER, AT, LETTER)                                                                         \
    static int GetInput##AXIS##LOWER##i(const Problem& p) { return p.input[AT]; }                                      \
    static int GetOutput##AXIS##LOWER##o(const Problem& p) { return p.output(AT); }                                    \
    static int GetFilter##AXIS##LETTER(const Problem& p) { return p.filter[AT]; }                                      \
    static int GetAdjustedConvolutionStride##LOWER(const Problem& p) { return p.stride[AT]; }                          \
    static int GetAdjustedConvolutionDilation##LOWER(const Problem& p) { return p.dilation[AT]; }                      \
    static int GetInputLeftPad##LOWER(const Problem& p) { return p.left[AT]; }                                         \
    static int GetAdjustedInputRightPad##LOWER(const Problem& p) { return p.right[AT]; }
    CKGEN_OF_AXIS(Depth, D, 0, Z)
    CKGEN_OF_AXIS(Height, H, 1, Y)
    CKGEN_OF_AXIS(Width, W, 2, X)
#undef CKGEN_OF_AXIS
};

}  // namespace solver
}  // namespace miopen
