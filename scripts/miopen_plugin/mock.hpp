// A stand-in for what the plug-in's code for gradients uses of MIOpen: every header <miopen/...> that it includes is
// this one, except implicitgemm_ck_util_common.hpp. The problem and the functions that read it are those of
// ../miopen_solvers/problem.hpp; transposing.hpp has the transpositions of tensors.
#pragma once

#include <any>
#include <exception>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <typeinfo>

#include "../miopen_solvers/problem.hpp"
#include "ck/host_utility/hip_check_error.hpp"
#include "ck/stream_config.hpp"

#define MIOPEN_LOG_I(...)                                                                                              \
    do {                                                                                                               \
    } while(false)
#define MIOPEN_LOG_I2(...) MIOPEN_LOG_I()
#define MIOPEN_LOG_E(TEXT) std::cerr << TEXT << std::endl
#define MIOPEN_LOG_WE(TEXT) std::cerr << TEXT << std::endl
#define MIOPEN_THROW(STATUS, TEXT) throw miopen::Exception(STATUS, TEXT)
#define MIOPEN_THROW_HIP_STATUS(STATUS, TEXT) throw miopen::Exception(miopenStatusInternalError, TEXT)
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

enum miopenStatus_t {
    miopenStatusSuccess,
    miopenStatusInvalidValue,
    miopenStatusInternalError,
    miopenStatusNotImplemented
};
enum ck_impl_status_t { CK_IMPL_STATUS_SUCCESS, CK_IMPL_STATUS_BAD_PARAM, CK_IMPL_STATUS_INTERNAL_ERROR };
enum miopenActivationMode_t { miopenActivationRELU, miopenActivationCLIPPEDRELU, miopenActivationCLAMP };

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

template <class T>
using shared = std::shared_ptr<std::remove_pointer_t<T>>;

struct Exception : std::runtime_error {
    Exception(miopenStatus_t, const std::string& text) : std::runtime_error(text) {}
};
struct ExecutionContext {};

}  // namespace miopen

#include "transposing.hpp"

namespace miopen {

inline bool IsLoggingKernel() { return false; }
inline void AddKernelToJsonAccumulator(const std::string&, float, bool) {}
inline void SetTensor(const Handle&, const TensorDescriptor&, Data_t, const void*) {
    throw Exception(miopenStatusNotImplemented, "only packed tensors are here");
}

struct Scalar {
    float value;
    float GetAsFloat() const { return value; }
};
namespace conv {
template <class Tensors>
struct InvokeParams {
    Tensors tensors;
    Data_t workSpace;
    std::size_t workSpaceSize;
    Scalar alpha, beta;
};
struct WrWInvokeParams : InvokeParams<ConvWrwTensors> {};
struct DataInvokeParams : InvokeParams<ConvDataTensors> {};
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
struct ActivationOpInvokeParam : Parameter {
    miopenActivationMode_t activMode = miopenActivationRELU;
    float activAlpha = 0.f, activBeta = 0.f;
};
}  // namespace fusion

struct AnyInvokeParams {
    std::any params;
    template <class Params>
    const Params& CastTo() const {
        return std::any_cast<const Params&>(params);
    }
};
using Invoker = std::function<void(const Handle&, const AnyInvokeParams&)>;
using InvokerFactory = std::function<Invoker(const std::vector<Kernel>&)>;

// The size that MIOpen takes for weight gradients that are not computed by a kernel with a workspace of its own.
inline void miopenConvolutionABBackwardWeightsGetWorkSpaceSize(miopenAlphaBetaCase_t alpha_beta,
                                                               const TensorDescriptor* input,
                                                               const TensorDescriptor* output, const TensorDescriptor*,
                                                               const ConvolutionDescriptor* conv, std::size_t* size) {
    const bool odd = input->lengths[1] / conv->groups % 2 != 0 || output->lengths[1] / conv->groups % 2 != 0;
    const bool half = output->type == miopenHalf || output->type == miopenBFloat16;
    *size = alpha_beta != DEFAULT || (half && odd) ? 4 * output->GetElementSize() : 0;
}

namespace solver {

template <int Least, int Most>
bool IsTwoPower(int value) {
    return Least <= value && value <= Most && (value & (value - 1)) == 0;
}

struct ConvSolution {
    miopenStatus_t status;
    std::size_t workspace_sz = 0;
    std::vector<KernelInfo> construction_params;
    std::optional<InvokerFactory> invoker_factory;
    ConvSolution(miopenStatus_t status_ = miopenStatusSuccess) : status(status_) {}
};

}  // namespace solver
}  // namespace miopen
