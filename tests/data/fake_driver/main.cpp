// Encodes a tensor map with a CUDA driver of our own, which answers with the CUresult of argv[1] on a GPU of compute
// capability argv[2], in a thread that has no context yet; says what came of it.
#ifndef __CUDA_ARCH__  // the host pass alone

#include <cstdio>
#include <cstdlib>

#include "ckgen/platform/tensor_map.hpp"

namespace {

CUresult answer = CUDA_SUCCESS;
int capability = 9;
bool has_context = false;

CUresult fake_current(CUcontext* context) {
    *context = has_context ? reinterpret_cast<CUcontext>(1) : nullptr;
    return CUDA_SUCCESS;
}

CUresult fake_encode(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*, const cuuint64_t*,
                     const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                     CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    return has_context ? answer : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

extern "C" {
cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
cudaError_t cudaSetDevice(int) { return has_context = true, cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) { return *value = capability, cudaSuccess; }
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned int, unsigned long long,
                                             cudaDriverEntryPointQueryResult* found) {
    const bool encodes = std::string(name) == "cuTensorMapEncodeTiled";
    *function = encodes ? reinterpret_cast<void*>(&fake_encode) : reinterpret_cast<void*>(&fake_current);
    *found = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
// Functions that the code which nvcc adds to every object calls.
void** __cudaRegisterFatBinary(void*) { return nullptr; }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
}

int main(int, char** argv) {
    answer = static_cast<CUresult>(std::atoi(argv[1]));
    capability = std::atoi(argv[2]);
    if(!ckgen::platform::encodes_tensor_maps())
        return std::puts("not asked"), 0;
    try {
        ckgen::platform::matrix_map<ckgen::half_t>(reinterpret_cast<void*>(4096), 64, 64, 128, 64);
        std::puts("encoded");
    } catch(const ckgen::platform::TensorMapRefused& error) {
        std::printf("refused: %s\n", error.what());
    } catch(const ckgen::platform::LaunchError& error) {
        std::printf("failed: %s\n", error.what());
    }
}
#endif
