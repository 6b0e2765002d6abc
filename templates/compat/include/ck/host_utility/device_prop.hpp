// The name of the current device, and its features. Other platforms than AMD GPUs compute like a gfx90a, or like the
// architecture that the environment variable CKGEN_HOST_DEVICE_NAME names, so that programs which ask for another one
// run there too.
#pragma once

#include <cstdlib>
#include <string>

#include "ck/ck.hpp"

namespace ck {

inline std::string get_device_name() {
#if CKGEN_PLATFORM_AMD
    int device = 0;
    hipDeviceProp_t properties;
    if(hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&properties, device) != hipSuccess)
        return {};
    const std::string name = properties.gcnArchName;
    return name.substr(0, name.find(':'));
#else
    const char* name = std::getenv("CKGEN_HOST_DEVICE_NAME");
    return name == nullptr ? "gfx90a" : name;
#endif
}

inline bool device_name_starts_with(const char* prefix) { return get_device_name().rfind(prefix, 0) == 0; }
inline bool is_xdl_supported() {
    return get_device_name() == "gfx908" || get_device_name() == "gfx90a" || device_name_starts_with("gfx94") ||
           device_name_starts_with("gfx95");
}
inline bool is_lds_direct_load_supported() { return is_xdl_supported() && get_device_name() != "gfx908"; }
inline bool is_bf16_atomic_supported() { return device_name_starts_with("gfx94"); }
inline bool is_gfx101_supported() { return device_name_starts_with("gfx101"); }
inline bool is_gfx103_supported() { return device_name_starts_with("gfx103"); }
inline bool is_gfx11_supported() { return device_name_starts_with("gfx11"); }
inline bool is_gfx12_supported() { return device_name_starts_with("gfx12"); }

}  // namespace ck
