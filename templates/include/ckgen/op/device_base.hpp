// The base classes of every device operator, with CK's names, argument order and meaning (its device_base.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <typeinfo>

#include "ckgen/platform/runtime.hpp"

// In the global namespace as in CK. It is an aggregate: StreamConfig{stream, true} times a run.
struct StreamConfig {
    ckgen::platform::Stream stream_id_ = nullptr;
    bool time_kernel_ = false;
    int log_level_ = 0;
    int cold_niters_ = 5;
    int nrepeat_ = 50;
    // CK's options of timing, which ckgen's do not have: they are accepted and change nothing.
    bool flush_cache = false;
    int rotating_count = 1;
};

namespace ckgen::tensor_operation::device {

// Lengths, strides or pads of 32 bits as those of 64 bits, which operators compute with.
template <std::size_t N>
std::array<long_index_t, N> widened(const std::array<index_t, N>& values) {
    std::array<long_index_t, N> wide{};
    for(std::size_t i = 0; i < N; ++i)
        wide[i] = values[i];
    return wide;
}
template <std::size_t N, std::size_t M>
std::array<std::array<long_index_t, M>, N> widened(const std::array<std::array<index_t, M>, N>& values) {
    std::array<std::array<long_index_t, M>, N> wide{};
    for(std::size_t i = 0; i < N; ++i)
        wide[i] = widened(values[i]);
    return wide;
}

struct BaseArgument {
    BaseArgument() = default;
    BaseArgument(const BaseArgument&) = default;
    BaseArgument& operator=(const BaseArgument&) = default;
    virtual ~BaseArgument() = default;

    // Device memory of GetWorkSpaceSize bytes, owned by the caller. Without it, or if the caller did not ask for its
    // size (see GetWorkSpaceSize), a run uses split_k 1, and allocates memory itself if even that needs some.
    void* p_workspace_ = nullptr;
};

// The split_k that a run uses, even if the caller asked for -1. Found by dynamic_cast from a BaseArgument.
struct ArgumentSplitK {
    virtual ~ArgumentSplitK() = default;
    index_t k_batch_ = 1;
};

struct BaseInvoker {
    BaseInvoker() = default;
    BaseInvoker(const BaseInvoker&) = default;
    BaseInvoker& operator=(const BaseInvoker&) = default;
    virtual ~BaseInvoker() = default;

    // Average milliseconds per launch if stream_config.time_kernel_, else 0. Throws std::invalid_argument for an
    // argument that IsSupportedArgument refuses, platform::LaunchError for errors of the runtime.
    virtual float Run(const BaseArgument*, const StreamConfig& = StreamConfig{}) { return 0.f; }
};

struct BaseOperator {
    BaseOperator() = default;
    BaseOperator(const BaseOperator&) = default;
    BaseOperator& operator=(const BaseOperator&) = default;
    virtual ~BaseOperator() = default;

    // True means that Run works. GetUnsupportedReason is then empty; otherwise it is "[rule] sentence with numbers".
    virtual bool IsSupportedArgument(const BaseArgument* argument) { return GetUnsupportedReason(argument).empty(); }
    virtual std::string GetUnsupportedReason(const BaseArgument*) const { return "[operator] no kernel"; }

    // CK's type string. It is not unique; GetIdentity is.
    virtual std::string GetTypeString() const { return ""; }
    // The instance's only name, in the spec's catalogue, the source file, CMake, Python and reports.
    virtual std::string GetIdentity() const { return ""; }
    virtual std::string GetTypeIdName() const { return typeid(*this).name(); }
    virtual std::string GetTypeIdHashCode() const {
        std::ostringstream hexadecimal;
        hexadecimal << std::hex << typeid(*this).hash_code();
        return hexadecimal.str();
    }

    // Bytes of workspace that the argument needs; 0 if none. SetWorkSpacePointer stores its address, which does not
    // tell its size: a run uses the workspace only if GetWorkSpaceSize was called with the same argument, or returned
    // the size that this argument needs when it was last called for this operator.
    virtual std::size_t GetWorkSpaceSize(const BaseArgument*) const { return 0; }
    virtual void SetWorkSpacePointer(BaseArgument* argument, void* workspace,
                                     const StreamConfig& = StreamConfig{}) const {
        argument->p_workspace_ = workspace;
    }
};

}  // namespace ckgen::tensor_operation::device
