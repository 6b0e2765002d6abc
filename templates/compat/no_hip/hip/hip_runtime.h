// The functions of HIP's runtime that CK's programs call, over the library's own platform: for libraries that do not
// run on AMD GPUs. A library for AMD GPUs uses HIP's header of this name.
#pragma once

#include <cstddef>
#include <vector>

#include "ckgen/platform/runtime.hpp"

#if !defined(__HIPCC__) && !defined(__CUDACC__)
#define __host__
#define __device__
#endif

using hipStream_t = ck::platform::Stream;
enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorUnknown = 999 };
enum hipMemcpyKind {
    hipMemcpyHostToHost,
    hipMemcpyHostToDevice,
    hipMemcpyDeviceToHost,
    hipMemcpyDeviceToDevice,
    hipMemcpyDefault
};

namespace ck::no_hip {
template <class Work>
hipError_t status_of(hipError_t error, const Work& work) {
    try {
        work();
        return hipSuccess;
    } catch(const platform::LaunchError&) {
        return error;
    }
}
}  // namespace ck::no_hip

template <class T>
hipError_t hipMalloc(T** memory, std::size_t bytes) {
    return ck::no_hip::status_of(hipErrorOutOfMemory,
                                 [&] { *memory = static_cast<T*>(ck::platform::allocate(bytes)); });
}
inline hipError_t hipFree(void* memory) {
    ck::platform::release(memory);
    return hipSuccess;
}
inline hipError_t hipDeviceSynchronize() {
    return ck::no_hip::status_of(hipErrorUnknown, [] { ck::platform::synchronize(nullptr); });
}
inline hipError_t hipStreamSynchronize(hipStream_t stream) {
    return ck::no_hip::status_of(hipErrorUnknown, [&] { ck::platform::synchronize(stream); });
}
inline hipError_t hipMemcpy(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind) {
    return ck::no_hip::status_of(hipErrorUnknown, [&] {
        if(kind == hipMemcpyHostToDevice)
            return ck::platform::copy_to_device(to, from, bytes);
        if(kind == hipMemcpyDeviceToHost)
            return ck::platform::copy_from_device(to, from, bytes);
        std::vector<char> on_host(bytes);
        ck::platform::copy_from_device(on_host.data(), from, bytes);
        ck::platform::copy_to_device(to, on_host.data(), bytes);
    });
}
inline hipError_t hipMemcpyAsync(void* to, const void* from, std::size_t bytes, hipMemcpyKind kind,
                                 hipStream_t stream = nullptr) {
    const hipError_t status = hipStreamSynchronize(stream);
    return status == hipSuccess ? hipMemcpy(to, from, bytes, kind) : status;
}
inline hipError_t hipMemset(void* memory, int value, std::size_t bytes) {
    const std::vector<unsigned char> values(bytes, static_cast<unsigned char>(value));
    return hipMemcpy(memory, values.data(), bytes, hipMemcpyHostToDevice);
}
inline hipError_t hipMemsetAsync(void* memory, int value, std::size_t bytes, hipStream_t stream = nullptr) {
    const hipError_t status = hipStreamSynchronize(stream);
    return status == hipSuccess ? hipMemset(memory, value, bytes) : status;
}
inline hipError_t hipSetDevice(int device) {
    return ck::no_hip::status_of(hipErrorInvalidValue, [&] { ck::platform::use_device(device); });
}
inline hipError_t hipGetLastError() { return hipSuccess; }
inline const char* hipGetErrorString(hipError_t error) {
    switch(error) {
    case hipSuccess:
        return "no error";
    case hipErrorInvalidValue:
        return "invalid argument";
    case hipErrorOutOfMemory:
        return "out of memory";
    default:
        return "unknown error";
    }
}
