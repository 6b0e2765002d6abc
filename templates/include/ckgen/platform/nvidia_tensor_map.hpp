// Tensor maps for the copy engine, made on the host through the driver (no -lcuda: the runtime finds the entry points).
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <string>

#include "ckgen/platform/tensor_map.hpp"

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

// Whether there is a driver to ask: a build machine only plans.
inline bool encodes_tensor_maps() { return current_device() >= 0; }

inline void check_driver(CUresult status, const char* what) {
    if(status != CUDA_SUCCESS)
        throw TensorMapRefused(std::string(what) + ": CUDA driver error " + std::to_string(static_cast<int>(status)));
}

template <class T>
constexpr CUtensorMapDataType tensor_map_type() {
    return IsSame<T, half_t>::value ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

// A matrix of `rows` rows of `columns` elements, `row_bytes` apart, copied as boxes of box_rows x 64 columns in
// 128-byte swizzle. What lies outside reads as zero.
template <class T>
TensorMap matrix_map(const void* base, int64 columns, int64 rows, int64 row_bytes, int box_rows) {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[] = {static_cast<cuuint64_t>(row_bytes)};
    const cuuint32_t box[] = {64, static_cast<cuuint32_t>(box_rows)};
    const cuuint32_t steps[] = {1, 1};
    TensorMap map;
    check_driver(encode(&map, tensor_map_type<T>(), 2, const_cast<void*>(base), sizes, strides, box, steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "cuTensorMapEncodeTiled");
    return map;
}

template <class T>
TensorMap box_map(const void* base, const BoxMap& m) {
    static const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    const auto size = [](int64 value) { return static_cast<cuuint64_t>(value); };
    const cuuint64_t sizes[] = {size(m.channels), size(m.columns), size(m.rows), size(m.images)};
    const cuuint64_t strides[] = {size(m.column_bytes), size(m.row_bytes), size(m.image_bytes)};
    const auto extent = [](int value) { return static_cast<cuuint32_t>(value); };
    const cuuint32_t box[] = {extent(m.box_channels), extent(m.box_columns * m.column_step),
                              extent(m.box_rows * m.row_step), 1};
    const cuuint32_t steps[] = {1, extent(m.column_step), extent(m.row_step), 1};
    TensorMap map;
    check_driver(encode(&map, tensor_map_type<T>(), 4, const_cast<void*>(base), sizes, strides, box, steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE,
                        m.box_channels == 64   ? CU_TENSOR_MAP_SWIZZLE_128B
                        : m.box_channels == 32 ? CU_TENSOR_MAP_SWIZZLE_64B
                                               : CU_TENSOR_MAP_SWIZZLE_NONE,
                        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "cuTensorMapEncodeTiled");
    return map;
}

// Copied as `pixels` positions of 64 channels in 128-byte swizzle; padding reads as zero.
template <class T>
TensorMap image_map(const void* base, const ImageMap& image, int pixels) {
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
    TensorMap map;
    check_driver(encode(&map, tensor_map_type<T>(), static_cast<cuuint32_t>(image.ndim + 2), const_cast<void*>(base),
                        sizes, strides, image.lower, image.upper, 64, static_cast<cuuint32_t>(pixels), steps,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
                 "cuTensorMapEncodeIm2col");
    return map;
}

}  // namespace ckgen::platform
