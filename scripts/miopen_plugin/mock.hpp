// A stand-in for what the plug-in's code for weight gradients uses of MIOpen: every header <miopen/...> that it
// includes is this one. The problem and the functions that read it are those of ../miopen_solvers/mock.hpp.
#pragma once

#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>

#include "../miopen_solvers/problem.hpp"
#include "ck/stream_config.hpp"

#define MIOPEN_LOG_I(...)                                                                                              \
    do {                                                                                                               \
    } while(false)
#define MIOPEN_LOG_I2(...) MIOPEN_LOG_I()
#define MIOPEN_LOG_E(TEXT) std::cerr << TEXT << std::endl
#define MIOPEN_LOG_WE(TEXT) std::cerr << TEXT << std::endl
#define MIOPEN_THROW(STATUS, TEXT) throw miopen::Exception(STATUS, TEXT)
#define MIOPEN_THROW_IF(CONDITION, TEXT)                                                                               \
    do {                                                                                                               \
        if(CONDITION)                                                                                                  \
            MIOPEN_THROW(miopenStatusInternalError, TEXT);                                                             \
    } while(false)
#define CK_IMPL_THROW_IF_NULL(POINTER, STATUS, TEXT)                                                                   \
    do {                                                                                                               \
        if((POINTER) == nullptr)                                                                                       \
            throw miopen::Exception(miopenStatusInvalidValue, TEXT);                                                   \
    } while(false)

enum miopenStatus_t { miopenStatusSuccess, miopenStatusInvalidValue, miopenStatusInternalError };
enum ck_impl_status_t { CK_IMPL_STATUS_SUCCESS, CK_IMPL_STATUS_BAD_PARAM, CK_IMPL_STATUS_INTERNAL_ERROR };

template <class Function>
ck_impl_status_t ck_impl_try_catch(const Function& function) {
    try {
        function();
        return CK_IMPL_STATUS_SUCCESS;
    } catch(const std::exception& error) {
        std::cerr << error.what() << std::endl;
        return CK_IMPL_STATUS_INTERNAL_ERROR;
    }
}

namespace miopen {

struct Exception : std::runtime_error {
    Exception(miopenStatus_t, const std::string& text) : std::runtime_error(text) {}
};

struct Handle {
    static auto GetStream() -> decltype(StreamConfig::stream_id_) { return nullptr; }
    static bool IsProfilingEnabled() { return false; }
    static float GetKernelTime() { return 0.f; }
    static void ResetKernelTime() {}
    static void AccumKernelTime(float) {}
};
struct HipEventProfiler {
    explicit HipEventProfiler(const Handle&) {}
    HipEventProfiler(const HipEventProfiler&) = delete;
    HipEventProfiler& operator=(const HipEventProfiler&) = delete;
    ~HipEventProfiler() {}  // so that an object is used
};
inline bool IsLoggingKernel() { return false; }
inline void AddKernelToJsonAccumulator(const std::string&, float, bool) {}

struct ExecutionContext {};
struct Kernel {};
struct Scalar {
    float value;
    float GetAsFloat() const { return value; }
};
namespace conv {
struct WrWInvokeParams {
    ConvWrwTensors tensors;
    Data_t workSpace;
    std::size_t workSpaceSize;
    Scalar alpha{1.f}, beta{0.f};
};
}  // namespace conv
namespace fusion {  // named in code for forward convolutions
struct FusionInvokeParams {};
struct Parameter {
    virtual ~Parameter() = default;
};
struct ConvolutionOpInvokeParam : Parameter {
    ConstData_t weights = nullptr;
    float alpha = 1.f, beta = 0.f;
};
struct BiasOpInvokeParam : Parameter {
    ConstData_t bdata = nullptr;
};
struct ActivationOpInvokeParam : Parameter {};
}  // namespace fusion

struct AnyInvokeParams {
    conv::WrWInvokeParams params;
    template <class Params>
    const Params& CastTo() const {
        return params;
    }
};
using Invoker = std::function<void(const Handle&, const AnyInvokeParams&)>;
using InvokerFactory = std::function<Invoker(const std::vector<Kernel>&)>;

namespace solver {

struct ConvSolution {
    miopenStatus_t status;
    std::size_t workspace_sz = 0;
    std::optional<InvokerFactory> invoker_factory;
    ConvSolution(miopenStatus_t status_ = miopenStatusSuccess) : status(status_) {}
};

// The values of split_k that MIOpen tries: powers of two from the least to the most, then -1, then again.
inline constexpr int CkSplitkAutoDeduce = -1;
template <int Least, int Most>
bool NextCKSplitkValue(int& value) {
    const bool was_last = value == CkSplitkAutoDeduce;
    value = was_last ? Least : value == Most ? CkSplitkAutoDeduce : 2 * value;
    return was_last;
}

// MIOpen adds what its transposition of tensors needs, which is nothing with the channels last.
inline std::size_t GetWorkspaceSizeLayoutTransformConv(const miopen::conv::ProblemDescription&, std::size_t size) {
    return size;
}
inline void ZeroOutTensor(const Handle&, const TensorStrides&, Data_t) {}

// Problems with the channels first are transposed by MIOpen's own kernels, and end here.
template <int, bool, class, class, class>
ConvSolution InitInvokerFactoryWrwNCHW(const ExecutionContext&, const miopen::conv::ProblemDescription&,
                                       const std::string&) {
    return {miopenStatusInternalError};
}

}  // namespace solver
}  // namespace miopen
