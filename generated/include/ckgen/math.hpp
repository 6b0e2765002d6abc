// Copied by ckgen from templates/include/ckgen/math.hpp. Do not edit; run: ckgen generate
// Functions of element-wise expressions, f32 on every platform; ckgen/elementwise/cpp.py defines them. They need no
// math library, which a bare device compiler does not have. If any argument is NaN, the result is NaN: clipping must
// not hide a gradient that blew up. The min and max of GPUs, and fmin and fmax, drop a NaN.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::math {

CKGEN_HD float min(float a, float b) { return a < b || a != a ? a : b; }
CKGEN_HD float max(float a, float b) { return a > b || a != a ? a : b; }
CKGEN_HD float abs(float x) { return __builtin_fabsf(x); }
CKGEN_HD float clamp(float x, float lo, float hi) { return min(max(x, lo), hi); }
CKGEN_HD float relu(float x) { return x < 0.f ? 0.f : x; }

#if defined(__CUDACC__)
CKGEN_HD float sqrt(float x) { return ::sqrtf(x); }
CKGEN_HD float exp(float x) { return ::expf(x); }
#else
CKGEN_HD float sqrt(float x) { return __builtin_sqrtf(x); }
#if CKGEN_PLATFORM_AMD && __clang_major__ < 17
// Before LLVM 17, AMD GPUs get exp2(x * log2(e)), whose argument is rounded: up to 64 units in the last place off. The
// rest of the product corrects it.
CKGEN_HD float exp(float x) {
    const float product = x * 0x1.715476p+0f;
    const float power = __builtin_exp2f(product);
    const float rest = __builtin_fmaf(x, 0x1.715476p+0f, -product) + x * 0x1.4ae0cp-26f;
    return power > 0.f && power <= 0x1.fffffep127f ? power + power * (rest * 0x1.62e43p-1f) : power;
}
#else
CKGEN_HD float exp(float x) { return __builtin_expf(x); }
#endif
#endif

CKGEN_HD float sigmoid(float x) { return 1.f / (1.f + exp(-x)); }

// Near zero, the sixth convergent of Lambert's continued fraction x / (1 + xx / (3 + xx / (5 + ...))) has a relative
// error below 1e-9; further out the exponential is precise enough.
CKGEN_HD float tanh(float x) {
    const float size = abs(x);
    if(size < 0.625f) {
        const float z = x * x;
        return x * ((21.f * z + 1260.f) * z + 10395.f) / (((z + 210.f) * z + 4725.f) * z + 10395.f);
    }
    const float far = 1.f - 2.f / (exp(2.f * size) + 1.f);
    return x < 0.f ? -far : far;
}

}  // namespace ckgen::math
