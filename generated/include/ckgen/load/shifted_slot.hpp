// Copied by ckgen from templates/include/ckgen/load/shifted_slot.hpp. Do not edit; run: ckgen generate
// Eight elements of 16 bits that begin anywhere in an aligned slot of 16 bytes.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

// Elements shift..shift+7 of the sixteen in `low` and `high`.
CKGEN_DEVICE Vec<uint32, 4> shifted_slot(const Vec<uint32, 4>& low, const Vec<uint32, 4>& high, int shift) {
    uint32 words[8];
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i) {
        words[i] = low[i];
        words[i + 4] = high[i];
    }
    CKGEN_UNROLL
    for(int i = 0; i < 6; ++i)
        words[i] = (shift & 4) != 0 ? words[i + 2] : words[i];
    CKGEN_UNROLL
    for(int i = 0; i < 5; ++i)
        words[i] = (shift & 2) != 0 ? words[i + 1] : words[i];
    Vec<uint32, 4> result;
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        result[i] = (shift & 1) != 0 ? (words[i] >> 16) | (words[i + 1] << 16) : words[i];
    return result;
}

}  // namespace ckgen::conv
