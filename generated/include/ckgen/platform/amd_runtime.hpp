// Copied by ckgen from templates/include/ckgen/platform/amd_runtime.hpp. Do not edit; run: ckgen generate
// Host side of the AMD platform: calls of the HIP runtime. Every error becomes an exception with HIP's text.
#pragma once

#include <hip/hip_runtime_api.h>

#include <stdexcept>
#include <string>

namespace ckgen::platform {

using Stream = hipStream_t;

class LaunchError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check_hip(hipError_t status, const char* what) {
    if(status == hipSuccess)
        return;
    static_cast<void>(hipGetLastError());  // otherwise the next launch would report it again
    throw LaunchError(std::string(what) + ": " + hipGetErrorString(status));
}

// The host platform checks accesses against `regions`; a GPU has its own page tables.
template <class Kernel, class Regions>
void launch(KernelEntry entry, uint32 blocks, const typename Kernel::Args& args, const Regions&, Stream stream) {
    typename Kernel::Args copy = args;
    void* pointers[] = {&copy};
    check_hip(hipLaunchKernel(entry, dim3(blocks), dim3(Kernel::launch_threads), pointers, 0, stream),
              "hipLaunchKernel");
    check_hip(hipGetLastError(), "kernel launch");
}

// Compute units of the current device. Without a device (a build machine that only plans) the number of an MI210.
inline int compute_units() {
    int device = 0;
    int units = 0;
    const bool known = hipGetDevice(&device) == hipSuccess &&
                       hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device) == hipSuccess;
    return known ? units : 104;
}

// The number of this thread's device; -1 without one.
inline int current_device() {
    int device = -1;
    if(hipGetDevice(&device) == hipSuccess)
        return device;
    static_cast<void>(hipGetLastError());
    return -1;
}

// The reason why the current device cannot run a kernel, or empty. Also empty without a device (a build machine that
// only plans).
inline std::string kernel_reason(KernelEntry entry, int lds_bytes) {
    const int device = current_device();
    int lds_limit = 0;
    if(device < 0 ||
       hipDeviceGetAttribute(&lds_limit, hipDeviceAttributeMaxSharedMemoryPerBlock, device) != hipSuccess) {
        static_cast<void>(hipGetLastError());
        return {};
    }
    const std::string name = "device " + std::to_string(device);
    hipFuncAttributes attributes{};
    const hipError_t status = hipFuncGetAttributes(&attributes, entry);
    if(status == hipErrorNoBinaryForGpu || status == hipErrorInvalidDeviceFunction ||
       status == hipErrorSharedObjectInitFailed) {
        static_cast<void>(hipGetLastError());
        return "[arch] the kernel was not compiled for " + name + ": " + hipGetErrorString(status);
    }
    check_hip(status, "hipFuncGetAttributes");
    if(lds_bytes > lds_limit)
        return "[lds] the kernel needs " + std::to_string(lds_bytes) + " bytes of LDS, " + name + " has " +
               std::to_string(lds_limit) + " for a workgroup";
    return {};
}

inline void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    if(bytes > 0)
        check_hip(hipMalloc(&memory, bytes), "hipMalloc");
    return memory;
}
inline void release(void* memory) { static_cast<void>(hipFree(memory)); }

// True if the current device has the memory pools of hipMallocAsync.
inline bool has_memory_pools() {
    const int device = current_device();
    int pools = 0;
    if(device < 0 || hipDeviceGetAttribute(&pools, hipDeviceAttributeMemoryPoolsSupported, device) != hipSuccess)
        static_cast<void>(hipGetLastError());
    return pools != 0;
}

// Memory for the next operations of a stream. No call waits for the stream if the device has memory pools; otherwise
// its release does.
class StreamMemory {
public:
    StreamMemory(std::size_t bytes, Stream stream) : stream_(stream), pooled_(has_memory_pools()) {
        if(!pooled_)
            memory_ = allocate(bytes);
        else if(bytes > 0)
            check_hip(hipMallocAsync(&memory_, bytes, stream), "hipMallocAsync");
    }
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;
    ~StreamMemory() {
        if(memory_ == nullptr)
            return;
        if(pooled_) {
            static_cast<void>(hipFreeAsync(memory_, stream_));
            return;
        }
        static_cast<void>(hipStreamSynchronize(stream_));
        release(memory_);
    }
    void* get() const { return memory_; }

private:
    Stream stream_;
    bool pooled_;
    void* memory_ = nullptr;
};

inline void copy_to_device(void* device, const void* host, std::size_t bytes) {
    check_hip(hipMemcpy(device, host, bytes, hipMemcpyHostToDevice), "hipMemcpy");
}
inline void copy_from_device(void* host, const void* device, std::size_t bytes) {
    check_hip(hipMemcpy(host, device, bytes, hipMemcpyDeviceToHost), "hipMemcpy");
}

// Waits for the work of one stream, or with nullptr of the whole device. Reports a kernel that faulted.
inline void synchronize(Stream stream) {
    check_hip(stream == nullptr ? hipDeviceSynchronize() : hipStreamSynchronize(stream), "kernel");
}
// Makes a device this thread's current one; returns the previous one.
inline int use_device(int device) {
    int previous = 0;
    check_hip(hipGetDevice(&previous), "hipGetDevice");
    if(device != previous)
        check_hip(hipSetDevice(device), "hipSetDevice");
    return previous;
}

// Average milliseconds of one call of `work` on `stream`, over `repeats` calls after `warm_ups`.
template <class Work>
float time_milliseconds(Stream stream, int warm_ups, int repeats, const Work& work) {
    struct Events {
        hipEvent_t begin = nullptr, end = nullptr;
        ~Events() {
            for(hipEvent_t event : {begin, end})
                if(event != nullptr)
                    static_cast<void>(hipEventDestroy(event));
        }
    } events;
    check_hip(hipEventCreate(&events.begin), "hipEventCreate");
    check_hip(hipEventCreate(&events.end), "hipEventCreate");
    for(int i = 0; i < warm_ups; ++i)
        work();
    check_hip(hipEventRecord(events.begin, stream), "hipEventRecord");
    for(int i = 0; i < repeats; ++i)
        work();
    check_hip(hipEventRecord(events.end, stream), "hipEventRecord");
    check_hip(hipEventSynchronize(events.end), "hipEventSynchronize");
    float total = 0.f;
    check_hip(hipEventElapsedTime(&total, events.begin, events.end), "hipEventElapsedTime");
    return total / static_cast<float>(repeats);
}

}  // namespace ckgen::platform
