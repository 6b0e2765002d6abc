// Division of integers from 0 to 2^31 - 1 by a precomputed divisor: a multiplication and a shift.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen::conv {

// Granlund and Montgomery, Division by Invariant Integers using Multiplication (1994), theorem 4.2. 2^shift is the
// smallest power of two that is not less than the divisor d. The multiplier is the next integer above 2^(31 + shift) /
// d; it fits 32 bits.
struct Divider {
    uint32 multiplier;
    int32 shift;  // in addition to 31

    static Divider by(int32 divisor) {
        int32 shift = 0;
        while((int64{1} << shift) < divisor)
            ++shift;
        return {static_cast<uint32>((uint64{1} << (31 + shift)) / static_cast<uint32>(divisor) + 1), shift};
    }
    CKGEN_HD int32 quotient(int32 number) const {
        return static_cast<int32>((static_cast<uint64>(static_cast<uint32>(number)) * multiplier) >> (31 + shift));
    }
};

}  // namespace ckgen::conv
