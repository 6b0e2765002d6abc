// Stand-ins for MIOpen's kernels that transpose a tensor, and for its handle, which launches them: here a launch copies
// to the host, transposes there, and copies back. A solution for channels first uses them around CK's kernel.
#pragma once

#include <cstring>
#include <vector>

#include "../miopen_solvers/problem.hpp"

namespace miopen {

namespace solver {
struct KernelInfo {  // transposes `batch` matrices
    std::size_t batch, height, width, bytes;
};
}  // namespace solver
using solver::KernelInfo;

struct Kernel {
    KernelInfo info;
};
struct OpKernelArg {
    const void* pointer = nullptr;
    OpKernelArg() = default;
    OpKernelArg(const void* pointer_) : pointer(pointer_) {}
};

struct Launch {
    KernelInfo info;
    void operator()(const std::vector<OpKernelArg>& arguments) const {
        const auto& [batch, height, width, bytes] = info;
        std::vector<char> from(batch * height * width * bytes), to(from.size());
        hip_check_error(hipMemcpy(from.data(), arguments[1].pointer, from.size(), hipMemcpyDeviceToHost));
        for(std::size_t b = 0; b < batch; ++b)
            for(std::size_t h = 0; h < height; ++h)
                for(std::size_t w = 0; w < width; ++w)
                    std::memcpy(&to[((b * width + w) * height + h) * bytes],
                                &from[((b * height + h) * width + w) * bytes], bytes);
        hip_check_error(
            hipMemcpy(const_cast<void*>(arguments[0].pointer), to.data(), to.size(), hipMemcpyHostToDevice));
    }
};

struct Handle {
    static auto GetStream() -> decltype(StreamConfig::stream_id_) { return nullptr; }
    static bool IsProfilingEnabled() { return false; }
    static float GetKernelTime() { return 0.f; }
    static void ResetKernelTime() {}
    static void AccumKernelTime(float) {}
    static Launch Run(const Kernel& kernel) { return {kernel.info}; }
    static shared<Data_t> CreateSubBuffer(Data_t memory, std::size_t offset, std::size_t) {
        return {static_cast<char*>(memory) + offset, [](void*) {}};
    }
};
struct HipEventProfiler {
    explicit HipEventProfiler(const Handle&) {}
    HipEventProfiler(const HipEventProfiler&) = delete;
    HipEventProfiler& operator=(const HipEventProfiler&) = delete;
    ~HipEventProfiler() {}  // so that an object is used
};

struct TransposeSolution {
    KernelInfo info;
    TransposeSolution(miopenDataType_t type, std::size_t batch, std::size_t height, std::size_t width)
        : info{batch, height, width, GetTypeSize(type)} {}
    KernelInfo GetKernelInfo() const { return info; }
    static std::vector<OpKernelArg> GetKernelArg() { return std::vector<OpKernelArg>(2); }
    std::size_t GetOutputTensorSize() const { return info.batch * info.height * info.width * info.bytes; }
};
struct TransposeSolutionDefault2Nhwc : TransposeSolution {
    TransposeSolutionDefault2Nhwc(const ExecutionContext&, miopenDataType_t type, uint32_t n, uint32_t c, uint32_t h,
                                  uint32_t w)
        : TransposeSolution(type, n, c, h * w) {}
};
struct TransposeSolutionNhwc2Default : TransposeSolution {
    TransposeSolutionNhwc2Default(const ExecutionContext&, miopenDataType_t type, uint32_t n, uint32_t c, uint32_t h,
                                  uint32_t w)
        : TransposeSolution(type, n, h * w, c) {}
};
struct TransposeSolutionDefault2Ndhwc : TransposeSolution {
    TransposeSolutionDefault2Ndhwc(const ExecutionContext&, miopenDataType_t type, uint32_t n, uint32_t c, uint32_t d,
                                   uint32_t h, uint32_t w)
        : TransposeSolution(type, n, c, d * h * w) {}
};
struct TransposeSolutionNdhwc2Default : TransposeSolution {
    TransposeSolutionNdhwc2Default(const ExecutionContext&, miopenDataType_t type, uint32_t n, uint32_t c, uint32_t d,
                                   uint32_t h, uint32_t w)
        : TransposeSolution(type, n, d * h * w, c) {}
};

// Buffers in one workspace, each from a multiple of 256 bytes on.
struct MultiBufferWorkspaceTraits {
    std::vector<std::size_t> ends{0};
    MultiBufferWorkspaceTraits(std::initializer_list<std::size_t> sizes) {
        for(const std::size_t size : sizes)
            ends.push_back(ends.back() + (size + 255) / 256 * 256);
    }
    std::size_t GetSize() const { return ends.back(); }
    std::size_t GetOffset(std::size_t index) const { return ends.at(index); }
};

}  // namespace miopen
