// Errors of the HIP runtime as exceptions.
#pragma once

#include <hip/hip_runtime.h>

#include <stdexcept>
#include <string>

inline void hip_check_error(hipError_t status) {
    if(status != hipSuccess)
        throw std::runtime_error(std::string("HIP: ") + hipGetErrorString(status));
}
