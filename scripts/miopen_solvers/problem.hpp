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

struct TensorStrides {
    std::vector<int> strides;
    std::size_t bytes = 0;
    const std::vector<int>& GetStrides() const { return strides; }
    std::size_t GetNumBytes() const { return bytes; }
};

struct ConvWrwTensors {
    ConstData_t dy;
    ConstData_t x;
    Data_t dw;
    TensorStrides dwDesc{};
};
struct ConvDataTensors {  // of a backward pass: `in` is the gradient that is read, `out` the one that is written
    ConstData_t in;
    ConstData_t w;
    Data_t out;
};

namespace conv {

// Depth, height, width in arrays of three; a 2D problem has depth 1.
struct ProblemDescription {
    using Three = std::array<int, 3>;
    int ndim, G, N, K, C;  // K and C of all groups
    Three filter, input, stride, dilation, left, right;
    miopenDataType_t type;
    miopenAlphaBetaCase_t alpha_beta;
    bool channels_last;

    int output(int d) const {
        return (input[d] + left[d] + right[d] - dilation[d] * (filter[d] - 1) - 1) / stride[d] + 1;
    }
    miopenAlphaBetaCase_t GetAlphaBetaCase() const { return alpha_beta; }
    bool IsLayoutNHWC() const { return channels_last; }
    bool IsLayoutDefault() const { return !channels_last; }
    miopenDataType_t GetInDataType() const { return type; }
    static bool AllTensorsDimsFitIntoInt() { return true; }
    // Strides of N, C and the positions, of a packed tensor with the channels last.
    TensorStrides packed(int channels, const Three& lengths) const {
        const int w = channels, h = w * lengths[2], d = h * lengths[1], n = d * lengths[0];
        return {ndim == 3 ? std::vector<int>{n, 1, d, h, w} : std::vector<int>{n, 1, h, w}};
    }
    // A backward pass begins with the gradient of the output.
    TensorStrides GetIn() const { return packed(K, {output(0), output(1), output(2)}); }
    TensorStrides GetOut() const { return packed(C, input); }
    TensorStrides GetWeights() const { return packed(C / G, filter); }
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
