// For a clang that is not AMD's, with HIP headers but without device libraries for the architecture: the functions of
// those libraries that HIP's headers call in the kernels of interest, with the meaning that LLVM's "User Guide for
// AMDGPU Backend" gives to the implicit arguments of code object version 5.
#pragma once

#include <hip/hip_runtime.h>

#if defined(__HIP_DEVICE_COMPILE__)
#define CKGEN_INLINE extern "C" __device__ __attribute__((always_inline, const))
CKGEN_INLINE size_t __ockl_get_group_id(unsigned axis) {
    return axis == 0   ? __builtin_amdgcn_workgroup_id_x()
           : axis == 1 ? __builtin_amdgcn_workgroup_id_y()
                       : __builtin_amdgcn_workgroup_id_z();
}
CKGEN_INLINE size_t __ockl_get_local_id(unsigned axis) {
    return axis == 0   ? __builtin_amdgcn_workitem_id_x()
           : axis == 1 ? __builtin_amdgcn_workitem_id_y()
                       : __builtin_amdgcn_workitem_id_z();
}
CKGEN_INLINE size_t __ockl_get_num_groups(unsigned axis) {
    return ((const unsigned*)__builtin_amdgcn_implicitarg_ptr())[axis];
}
CKGEN_INLINE size_t __ockl_get_local_size(unsigned axis) {
    return ((const unsigned short*)__builtin_amdgcn_implicitarg_ptr())[6 + axis];
}
CKGEN_INLINE unsigned __ockl_mul_hi_u32(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
#undef CKGEN_INLINE
#endif
