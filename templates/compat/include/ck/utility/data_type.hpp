// Data types and their limits. f8_t, bf8_t and tf32_t name a computation: no tensor of a library has them.
#pragma once

#include <limits>

#include "ck/ck.hpp"
#include "ckgen/compute_types.hpp"

namespace ck {

template <class T>
struct NumericLimits {
    static_assert(std::numeric_limits<T>::is_specialized, "ck::NumericLimits has no limits of this type");
    static constexpr T Min() { return std::numeric_limits<T>::min(); }
    static constexpr T Max() { return std::numeric_limits<T>::max(); }
    static constexpr T Lowest() { return std::numeric_limits<T>::lowest(); }
    static constexpr T QuietNaN() { return std::numeric_limits<T>::quiet_NaN(); }
    static constexpr T Infinity() { return std::numeric_limits<T>::infinity(); }
};

// Limits of types that the standard library does not know, by their codes. Min is the smallest normal number.
template <class T, class Code, Code Smallest, Code Largest, Code NaN, Code Infinite>
struct LimitsOfCodes {
    static CKGEN_HD constexpr T Min() { return __builtin_bit_cast(T, Smallest); }
    static CKGEN_HD constexpr T Max() { return __builtin_bit_cast(T, Largest); }
    static CKGEN_HD constexpr T Lowest() { return __builtin_bit_cast(T, static_cast<Code>(Largest | kSign)); }
    static CKGEN_HD constexpr T QuietNaN() { return __builtin_bit_cast(T, NaN); }
    static CKGEN_HD constexpr T Infinity() { return __builtin_bit_cast(T, Infinite); }

private:
    static constexpr Code kSign = static_cast<Code>(1u << (8 * sizeof(Code) - 1));
};
template <>
struct NumericLimits<half_t> : LimitsOfCodes<half_t, uint16, 0x0400, 0x7bff, 0x7e00, 0x7c00> {};
template <>
struct NumericLimits<bhalf_t> : LimitsOfCodes<bhalf_t, uint16, 0x0080, 0x7f7f, 0x7fc0, 0x7f80> {};

// The encoding is that of type_convert. For a type without infinities, Infinity is NaN, as its conversion is.
template <class T, class Format>
using LimitsOfF8 = LimitsOfCodes<T, uint8, 1u << Format::fraction, Format::largest, Format::nan,
                                 Format::has_infinity ? Format::infinity : Format::nan>;
template <>
struct NumericLimits<f8_t> : LimitsOfF8<f8_t, E4M3<kF8Codes>> {};
template <>
struct NumericLimits<bf8_t> : LimitsOfF8<bf8_t, E5M2<kF8Codes>> {};

}  // namespace ck

#include "ck/utility/type_convert.hpp"
