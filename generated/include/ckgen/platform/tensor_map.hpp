// Copied by ckgen from templates/include/ckgen/platform/tensor_map.hpp. Do not edit; run: ckgen generate
// Tensor maps (descriptions of tensors for TMA), on the platforms that have TMA. matrix_map(), box_map() and
// im2col_map() make a TensorMap on the host side, or throw TensorMapRefused.
#pragma once

#include "ckgen/platform/platform.hpp"

#if CKGEN_PLATFORM_HOST
#include "ckgen/platform/host_tensor_map.hpp"
#else
#include "ckgen/platform/nvidia_tensor_map.hpp"
#endif
