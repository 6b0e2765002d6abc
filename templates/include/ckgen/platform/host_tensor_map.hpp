// Tensor maps of the host's TMA unit. It refuses the maps that CUDA's driver would refuse: CUDA driver API,
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col.
#pragma once

#include "ckgen/platform/tensor_map_shapes.hpp"

namespace ckgen::platform {

inline bool encodes_tensor_maps() { return true; }

// Throws TensorMapRefused if the driver would not take the map.
inline void check_tensor_map(const TensorMap& m) {
    const auto need = [](bool holds, const std::string& what) {
        if(!holds)
            throw TensorMapRefused("host platform: a tensor map that CUDA refuses: " + what);
    };
    const auto said = [](const char* what, int d, int64 value) {
        return std::string(what) + " of dimension " + std::to_string(d) + " is " + std::to_string(value);
    };
    need(reinterpret_cast<uintptr_t>(m.base) % 16 == 0, "the tensor's address is not a multiple of 16");
    for(int d = 0; d < m.rank; ++d) {
        need(m.sizes[d] > 0 && m.sizes[d] <= int64{1} << 32, said("length", d, m.sizes[d]));
        need(d == 0 || (m.strides[d] % 16 == 0 && m.strides[d] < int64{1} << 40), said("stride", d, m.strides[d]));
        need(m.steps[d] >= 1 && m.steps[d] <= 8, said("step", d, m.steps[d]));
        need((m.im2col && d > 0) || (m.box[d] >= 1 && m.box[d] <= 256), said("box", d, m.box[d]));
    }
    const int64 row_bytes = m.box[0] * m.strides[0];
    need(row_bytes % 16 == 0 && (!m.swizzled || row_bytes <= 128), said("box", 0, m.box[0]));
    const int corner = m.rank == 3 ? 32768 : m.rank == 4 ? 128 : 16;
    need(!m.im2col || (m.pixels >= 1 && m.pixels <= 1024), "pixels are " + std::to_string(m.pixels));
    for(int d = 0; m.im2col && d < m.rank - 2; ++d) {
        need(m.lower[d] >= -corner && m.lower[d] < corner, said("lower corner", d, m.lower[d]));
        need(m.upper[d] >= -corner && m.upper[d] < corner, said("upper corner", d, m.upper[d]));
    }
}

template <class T>
TensorMap matrix_map(const void* base, int64 columns, int64 rows, int64 row_bytes, int box_rows) {
    TensorMap map{static_cast<const char*>(base),
                  2,
                  {columns, rows},
                  {sizeof(T), row_bytes},
                  {128 / sizeof(T), box_rows},
                  {1, 1},
                  true,
                  IsSame<T, tf32_t>::value,
                  false,
                  0,
                  {},
                  {}};
    check_tensor_map(map);
    return map;
}

template <class T>
TensorMap box_map(const void* base, const BoxMap& m) {
    TensorMap map{static_cast<const char*>(base),
                  4,
                  {m.channels, m.columns, m.rows, m.images},
                  {sizeof(T), m.column_bytes, m.row_bytes, m.image_bytes},
                  {m.box_channels, m.box_columns * m.column_step, m.box_rows * m.row_step, m.box_images},
                  {1, m.column_step, m.row_step, 1},
                  (m.box_channels * sizeof(T) == 128 || m.box_channels * sizeof(T) == 64) && !m.plain,
                  IsSame<T, tf32_t>::value,
                  false,
                  0,
                  {},
                  {}};
    check_tensor_map(map);
    return map;
}

template <class T>
TensorMap im2col_map(const void* base, const Im2colMap& image, int pixels) {
    TensorMap map{static_cast<const char*>(base),
                  image.ndim + 2,
                  {image.channels},
                  {sizeof(T)},
                  {image.box_channels},
                  {1},
                  true,
                  IsSame<T, tf32_t>::value,
                  true,
                  pixels,
                  {},
                  {}};
    for(int d = 0; d < image.ndim; ++d) {
        map.sizes[1 + d] = image.length[d];
        map.strides[1 + d] = image.stride_bytes[d];
        map.steps[1 + d] = image.step[d];
        map.lower[d] = image.lower[d];
        map.upper[d] = image.upper[d];
    }
    map.sizes[1 + image.ndim] = image.images;
    map.strides[1 + image.ndim] = image.image_bytes;
    map.steps[1 + image.ndim] = 1;
    check_tensor_map(map);
    return map;
}

}  // namespace ckgen::platform
