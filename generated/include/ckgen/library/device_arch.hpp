// Copied by ckgen from templates/include/ckgen/library/device_arch.hpp. Do not edit; run: ckgen generate
// The architecture of the current device of this thread, with the name that GPU targets use.
#pragma once

#include <string>

#include "ckgen/compute_types.hpp"
#include "ckgen/platform/runtime.hpp"

namespace ckgen {

// "sm_90" (without suffix, because the device reports only its compute capability), "gfx942", "host"; empty without a
// device.
inline std::string device_arch() {
#if CKGEN_PLATFORM_NVIDIA
    int device = 0, major = 0, minor = 0;
    const bool known = cudaGetDevice(&device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess;
    if(!known)
        static_cast<void>(cudaGetLastError());  // otherwise the next launch would report it
    return known ? "sm_" + std::to_string(major) + std::to_string(minor) : "";
#elif CKGEN_PLATFORM_AMD
    int device = 0;
    hipDeviceProp_t properties{};
    if(hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess) {
        static_cast<void>(hipGetLastError());  // otherwise the next launch would report it
        return "";
    }
    const std::string name = properties.gcnArchName;  // such as gfx90a:sramecc+:xnack-
    return name.substr(0, name.find(':'));
#else
    return "host";
#endif
}

// The encoding of 8-bit floating point that kernels on the current device use, which compute_types.hpp chooses by
// architecture.
inline F8Codes device_f8_codes() {
    const std::string arch = device_arch();
    return arch == "gfx90a" || arch == "gfx942" ? F8Codes::Fnuz : kF8Codes;
}

}  // namespace ckgen
