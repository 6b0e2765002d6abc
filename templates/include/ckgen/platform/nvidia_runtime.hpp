// Host side of the NVIDIA platform: calls of the CUDA runtime. Every error becomes an exception with CUDA's text.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace ckgen::platform {

using Stream = cudaStream_t;

class LaunchError : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void check_cuda(cudaError_t status, const char* what) {
    if(status == cudaSuccess)
        return;
    static_cast<void>(cudaGetLastError());  // otherwise the next launch would report it again
    throw LaunchError(std::string(what) + ": " + cudaGetErrorString(status));
}

// The number of this thread's device; -1 without one.
inline int current_device() {
    int device = -1;
    if(cudaGetDevice(&device) == cudaSuccess)
        return device;
    static_cast<void>(cudaGetLastError());
    return -1;
}

// Programmatic dependent launch: a kernel begins while the previous one ends, and itself waits for that end. Only code
// for compute capability 9.0 and above has the instruction that waits. Code for an older architecture may run on a
// newer GPU, so this queries the loaded kernel.
inline bool waits_by_itself(KernelEntry entry) {
    cudaFuncAttributes attributes{};
    check_cuda(cudaFuncGetAttributes(&attributes, entry), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 90;
}

// Half of the shared memory of a multiprocessor of the current device: no two workgroups fit that have so much, because
// the system reserves a part for each.
inline int alone_bytes() {
    int device = 0;
    int bytes = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device),
               "cudaDeviceGetAttribute");
    return bytes / 2;
}

// Multiprocessors of the current device. Without a device (a build machine that only plans) the number of an H100.
inline int compute_units() {
    int device = 0;
    int units = 0;
    const bool known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device) == cudaSuccess;
    return known ? units : 132;
}

// The attributes of a kernel's launch. All are facts of a kernel on a device, and asking for them takes as long as a
// launch, so each thread asks once.
struct LaunchNeeds {
    bool overlaps;    // it may begin before the previous kernel has ended
    int alone_bytes;  // at least its shared memory, so that a multiprocessor holds one workgroup
    uint32 units;     // multiprocessors
};

template <class Kernel>
LaunchNeeds launch_needs(KernelEntry entry) {
    thread_local std::map<std::pair<KernelEntry, int>, LaunchNeeds> known;
    const std::pair<KernelEntry, int> key{entry, current_device()};
    const auto found = known.find(key);
    if(found != known.end())
        return found->second;
    LaunchNeeds needs{};
    needs.overlaps = WaitsForPrevious<Kernel>::value && waits_by_itself(entry);
    needs.alone_bytes = needs.overlaps && alone_bytes() > Kernel::lds_bytes ? alone_bytes() : Kernel::lds_bytes;
    needs.units = static_cast<uint32>(compute_units());
    if(needs.alone_bytes > 48 * 1024)  // more must be requested
        check_cuda(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, needs.alone_bytes),
                   "cudaFuncSetAttribute");
    return known[key] = needs;
}

// The host platform checks accesses against `regions`; a GPU has its own page tables.
template <class Kernel, class Regions>
void launch(KernelEntry entry, uint32 blocks, const typename Kernel::Args& args, const Regions&, Stream stream) {
    typename Kernel::Args copy = args;
    void* pointers[] = {&copy};
    const LaunchNeeds needs = launch_needs<Kernel>(entry);
    cudaLaunchAttribute attributes[3] = {};
    cudaLaunchConfig_t config{};
    if(needs.overlaps) {
        cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
    }
    if constexpr(HasFixup<Kernel>::value)
        if(Kernel::needs_fixup(args)) {
            cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
            attribute.id = cudaLaunchAttributeCooperative;
            attribute.val.cooperative = 1;
        }
    if constexpr(ClusterOf<Kernel>::value > 1) {
        cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim = {ClusterOf<Kernel>::value, 1, 1};
    }
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(Kernel::launch_threads);
    // Workgroups that begin early would share the multiprocessors that are idle then, while others have none.
    config.dynamicSmemBytes = blocks <= needs.units ? needs.alone_bytes : Kernel::lds_bytes;
    config.stream = stream;
    config.attrs = attributes;
    check_cuda(cudaLaunchKernelExC(&config, entry, pointers), "cudaLaunchKernel");
    check_cuda(cudaGetLastError(), "kernel launch");
}

// The reason why the current device cannot run a kernel, or empty. Also empty without a device (a build machine that
// only plans).
inline std::string kernel_reason(KernelEntry entry, int lds_bytes) {
    const int device = current_device();
    int major = 0;
    int minor = 0;
    int lds_limit = 0;
    if(device < 0 || cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
       cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess ||
       cudaDeviceGetAttribute(&lds_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return {};
    }
    const std::string name = "device " + std::to_string(device) + " (sm_" + std::to_string(10 * major + minor) + ")";
    cudaFuncAttributes attributes{};
    const cudaError_t status = cudaFuncGetAttributes(&attributes, entry);
    if(status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction) {
        static_cast<void>(cudaGetLastError());
        return "[arch] the kernel was not compiled for " + name;
    }
    check_cuda(status, "cudaFuncGetAttributes");
    if(lds_bytes > lds_limit)
        return "[lds] the kernel needs " + std::to_string(lds_bytes) + " bytes of LDS, " + name + " has " +
               std::to_string(lds_limit) + " for a workgroup";
    return {};
}

inline void* allocate(std::size_t bytes) {
    void* memory = nullptr;
    if(bytes > 0)
        check_cuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
}
inline void release(void* memory) { static_cast<void>(cudaFree(memory)); }

// Memory for the next operations of a stream: no call waits for the stream.
class StreamMemory {
public:
    StreamMemory(std::size_t bytes, Stream stream) : stream_(stream) {
        if(bytes > 0)
            check_cuda(cudaMallocAsync(&memory_, bytes, stream), "cudaMallocAsync");
    }
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;
    ~StreamMemory() {
        if(memory_ != nullptr)
            static_cast<void>(cudaFreeAsync(memory_, stream_));
    }
    void* get() const { return memory_; }

private:
    Stream stream_;
    void* memory_ = nullptr;
};

inline void copy_to_device(void* device, const void* host, std::size_t bytes) {
    check_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
}
inline void copy_from_device(void* host, const void* device, std::size_t bytes) {
    check_cuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
}

// Waits for the work of one stream, or with nullptr of the whole device. Reports a kernel that faulted.
inline void synchronize(Stream stream) {
    check_cuda(stream == nullptr ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream), "kernel");
}
// Makes a device this thread's current one; returns the previous one.
inline int use_device(int device) {
    int previous = 0;
    check_cuda(cudaGetDevice(&previous), "cudaGetDevice");
    if(device != previous)
        check_cuda(cudaSetDevice(device), "cudaSetDevice");
    return previous;
}

// Average milliseconds of one call of `work` on `stream`, over `repeats` calls after `warm_ups`.
template <class Work>
float time_milliseconds(Stream stream, int warm_ups, int repeats, const Work& work) {
    struct Events {
        cudaEvent_t begin = nullptr, end = nullptr;
        ~Events() {
            for(cudaEvent_t event : {begin, end})
                if(event != nullptr)
                    static_cast<void>(cudaEventDestroy(event));
        }
    } events;
    check_cuda(cudaEventCreate(&events.begin), "cudaEventCreate");
    check_cuda(cudaEventCreate(&events.end), "cudaEventCreate");
    for(int i = 0; i < warm_ups; ++i)
        work();
    check_cuda(cudaEventRecord(events.begin, stream), "cudaEventRecord");
    for(int i = 0; i < repeats; ++i)
        work();
    check_cuda(cudaEventRecord(events.end, stream), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(events.end), "cudaEventSynchronize");
    float total = 0.f;
    check_cuda(cudaEventElapsedTime(&total, events.begin, events.end), "cudaEventElapsedTime");
    return total / static_cast<float>(repeats);
}

}  // namespace ckgen::platform
