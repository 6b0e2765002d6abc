// Copied by ckgen from templates/include/ckgen/platform/nvidia_tensor_map.hpp. Do not edit; run: ckgen generate
// Tensor maps for TMA, made on the host through the driver (no -lcuda: the runtime finds the entry points).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

#include "ckgen/platform/tensor_map_shapes.hpp"

namespace ckgen::platform {

template <class Function>
Function driver_function(const char* name) {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    check_cuda(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found), name);
    if(found != cudaDriverEntryPointSuccess || function == nullptr)
        throw LaunchError(std::string(name) + ": the driver has no such function");
    return reinterpret_cast<Function>(function);
}

// True if a driver can encode tensor maps. A build machine has no driver, and GPUs before compute capability 9.0 have
// no tensor maps (CUDA driver API, Tensor Map Object Management).
inline bool encodes_tensor_maps() {
    const int device = current_device();
    int major = 0;
    if(device >= 0 && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        static_cast<void>(cudaGetLastError());
    return major >= 9;
}

// Makes sure that the thread has a context, which functions of the driver need. The first call of the runtime that
// needs one creates it.
inline void need_context() {
    static const auto current = driver_function<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent");
    CUcontext context = nullptr;
    if(current(&context) != CUDA_SUCCESS || context == nullptr)
        check_cuda(cudaSetDevice(current_device()), "cudaSetDevice");
}

// The map that a function of the driver makes. Only CUDA_ERROR_INVALID_VALUE concerns the map: other errors, such as
// that of an earlier kernel that faulted, say nothing about the problem.
template <class... Parameters, class... Arguments>
TensorMap encoded(const char* name, CUresult (*encode)(CUtensorMap*, Parameters...), const Arguments&... arguments) {
    need_context();
    TensorMap map;
    const CUresult status = encode(&map, arguments...);
    const std::string said = std::string(name) + ": CUDA driver error " + std::to_string(static_cast<int>(status));
    if(status == CUDA_ERROR_INVALID_VALUE)
        throw TensorMapRefused(said);
    if(status != CUDA_SUCCESS)
        throw LaunchError(said);
    return map;
}

// For tf32_t, TMA rounds f32 elements on their way.
template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
    return IsSame<T, half_t>::value   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
           : IsSame<T, float>::value  ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
           : IsSame<T, tf32_t>::value ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                      : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

// A matrix of `rows` rows of `columns` elements, `row_bytes` apart, copied in boxes of box_rows x 128 bytes with
// 128-byte swizzle. Elements outside read as zero.
template <class T>
TensorMap matrix_map(const void* base, int64 columns, int64 rows, int64 row_bytes, int box_rows) {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[] = {static_cast<cuuint64_t>(row_bytes)};
    const cuuint32_t box[] = {128 / sizeof(T), static_cast<cuuint32_t>(box_rows)};
    const cuuint32_t steps[] = {1, 1};
    return encoded("cuTensorMapEncodeTiled", encode, tensor_map_type<T>(), 2, const_cast<void*>(base), sizes, strides,
                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// The swizzle of rows of a copy: that of their width.
inline CUtensorMapSwizzle swizzle_of(int64 row_bytes) {
    return row_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
           : row_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                             : CU_TENSOR_MAP_SWIZZLE_NONE;
}

template <class T>
TensorMap box_map(const void* base, const BoxMap& m) {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    const auto size = [](int64 value) { return static_cast<cuuint64_t>(value); };
    const cuuint64_t sizes[] = {size(m.channels), size(m.columns), size(m.rows), size(m.images)};
    const cuuint64_t strides[] = {size(m.column_bytes), size(m.row_bytes), size(m.image_bytes)};
    const auto extent = [](int value) { return static_cast<cuuint32_t>(value); };
    const cuuint32_t box[] = {extent(m.box_channels), extent(m.box_columns * m.column_step),
                              extent(m.box_rows * m.row_step), extent(m.box_images)};
    const cuuint32_t steps[] = {1, extent(m.column_step), extent(m.row_step), 1};
    const CUtensorMapSwizzle swizzle =
        m.plain ? CU_TENSOR_MAP_SWIZZLE_NONE : swizzle_of(m.box_channels * int64{sizeof(T)});
    return encoded("cuTensorMapEncodeTiled", encode, tensor_map_type<T>(), 4, const_cast<void*>(base), sizes, strides,
                   box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

// An image tensor, copied as `pixels` positions of box_channels with the swizzle of their width; padding reads as zero.
template <class T>
TensorMap im2col_map(const void* base, const Im2colMap& image, int pixels) {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    cuuint64_t sizes[5] = {static_cast<cuuint64_t>(image.channels)};
    cuuint64_t strides[4] = {};
    cuuint32_t steps[5] = {1};
    for(int d = 0; d < image.ndim; ++d) {
        sizes[1 + d] = static_cast<cuuint64_t>(image.length[d]);
        strides[d] = static_cast<cuuint64_t>(image.stride_bytes[d]);
        steps[1 + d] = static_cast<cuuint32_t>(image.step[d]);
    }
    sizes[1 + image.ndim] = static_cast<cuuint64_t>(image.images);
    strides[image.ndim] = static_cast<cuuint64_t>(image.image_bytes);
    steps[1 + image.ndim] = 1;
    return encoded("cuTensorMapEncodeIm2col", encode, tensor_map_type<T>(), static_cast<cuuint32_t>(image.ndim + 2),
                   const_cast<void*>(base), sizes, strides, image.lower, image.upper,
                   static_cast<cuuint32_t>(image.box_channels), static_cast<cuuint32_t>(pixels), steps,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(image.box_channels * int64{sizeof(T)}),
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

}  // namespace ckgen::platform
