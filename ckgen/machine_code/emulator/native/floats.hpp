// Floating point functions of instructions whose meaning AMD gives in words: minima and maxima, roundings, 8-bit
// floats.
#pragma once

#include "numbers.hpp"

namespace emu {

// A NaN as arithmetic returns it.
inline f32 quiet(f32 v) { return bits_as<f32>(bits_as<u32>(v) | 1u << 22); }
inline f64 quiet(f64 v) { return bits_as<f64>(bits_as<u64>(v) | u64(1) << 51); }
inline f16 quiet(f16 v) {
    v.raw |= 0x200;
    return v;
}

// True if a is to be the smaller one: -0 is smaller than +0.
template <class T>
bool is_below(T a, T b) {
    const f64 x = f64(a), y = f64(b);
    return x < y || (x == y && std::signbit(x) && !std::signbit(y));
}
inline bool is_below(f16 a, f16 b) { return is_below(f32(a), f32(b)); }

// The number beside a NaN, `chosen` if there is none.
template <class T>
T beside_nan(T a, T b, T chosen) {
    return isNAN(a) ? (isNAN(b) ? quiet(a) : b) : isNAN(b) ? a : chosen;
}
template <class T>
T least_num(T a, T b) {
    return beside_nan(a, b, is_below(a, b) ? a : b);
}
template <class T>
T most_num(T a, T b) {
    return beside_nan(a, b, is_below(a, b) ? b : a);
}
// IEEE mode: a signalling NaN is the result, as a quiet one.
template <class T>
T least(T a, T b) {
    if constexpr(std::is_integral_v<T>)
        return a < b ? a : b;
    else
        return isSignalNAN(a) ? quiet(a) : isSignalNAN(b) ? quiet(b) : least_num(a, b);
}
template <class T>
T most(T a, T b) {
    if constexpr(std::is_integral_v<T>)
        return a > b ? a : b;
    else
        return isSignalNAN(a) ? quiet(a) : isSignalNAN(b) ? quiet(b) : most_num(a, b);
}
// With a NaN the smallest of the others: "CDNA3 ISA", V_MED3_F32.
template <class T>
T middle(T a, T b, T c) {
    if constexpr(!std::is_integral_v<T>)
        if(isNAN(a) || isNAN(b) || isNAN(c))
            return least(least(a, b), c);
    return most(least(a, b), least(most(a, b), c));
}
template <class T>
T middle_num(T a, T b, T c) {
    if(isNAN(a) || isNAN(b) || isNAN(c))
        return least_num(least_num(a, b), c);
    return most_num(least_num(a, b), least_num(most_num(a, b), c));
}

// v = fraction * 2^exponent with a fraction of 0.5 to 1; infinities and NaN are their own fraction.
template <class T>
int exponent_of(T v) {
    int exponent = 0;
    const f64 value = f64(v);
    if(std::isfinite(value))
        std::frexp(value, &exponent);
    return exponent;
}
inline int exponent_of(f16 v) { return exponent_of(f32(v)); }
template <class T>
T fraction_of(T v) {
    int exponent = 0;
    return T(std::frexp(v, &exponent));
}
inline f16 fraction_of(f16 v) {
    int exponent = 0;
    return isNAN(v) || isINF(v) ? v : f16(std::frexp(f64(f32(v)), &exponent));
}

inline f32 rndne(f32 v) { return std::nearbyint(v); }
inline f64 rndne(f64 v) { return std::nearbyint(v); }
inline f16 rndne(f16 v) { return f16(std::nearbyint(f64(f32(v)))); }
inline f32 ceil_(f32 v) { return std::ceil(v); }
inline f64 ceil_(f64 v) { return std::ceil(v); }
inline f16 ceil_(f16 v) { return f16(std::ceil(f64(f32(v)))); }
inline f16 floor_(f16 v) { return f16(std::floor(f64(f32(v)))); }
inline f16 ldexp_(f16 v, i32 by) { return f16(std::ldexp(f64(f32(v)), by)); }

// Towards zero; what is too large becomes the largest number, and infinities stay.
inline f16 f32_cut_to_f16(f32 value) {
    f16 made{f64(value)};
    const f32 size = std::fabs(value);
    if(std::fabs(f32(made)) > size)  // the pattern below is the next one towards zero
        --made.raw;
    return made;
}

// 8-bit floats. OCP: "OCP 8-bit Floating Point Specification"; FNUZ (gfx942): "CDNA3 ISA", 7.4: a bias larger by one,
// no negative zero, whose code is the only NaN, and no infinities.
struct ByteFormat {
    int fraction;  // bits
    bool fnuz;
    constexpr int bias() const { return (1 << (6 - fraction)) - 1 + int(fnuz); }
    constexpr bool has_infinity() const { return fraction == 2 && !fnuz; }
};
constexpr ByteFormat byte_format(u32 number) { return {number & 1 ? 2 : 3, (number & 2) != 0}; }

inline f32 byte_to_f32(u32 code, u32 number) {
    const ByteFormat format = byte_format(number);
    const u32 size = code & 0x7f, fraction = size & ((1u << format.fraction) - 1), exponent = size >> format.fraction;
    const f32 nan = std::numeric_limits<f32>::quiet_NaN();
    if(format.fnuz ? code == 0x80 : format.has_infinity() ? size > 0x7c : size == 0x7f)
        return nan;
    if(format.has_infinity() && size == 0x7c)
        return code & 0x80 ? -std::numeric_limits<f32>::infinity() : std::numeric_limits<f32>::infinity();
    const u32 whole = exponent == 0 ? fraction : fraction | 1u << format.fraction;
    const f32 value = std::ldexp(f32(whole), (exponent == 0 ? 1 : int(exponent)) - format.bias() - format.fraction);
    return code & 0x80 ? -value : value;
}

// To the nearest, ties to even. Too large: NaN (E4M3, FNUZ) or infinity (E5M2 of OCP), as without clamping.
inline u32 f32_to_byte(f32 value, u32 number) {
    const ByteFormat format = byte_format(number);
    const u32 sign = std::signbit(value) ? 0x80 : 0;
    if(std::isnan(value))
        return format.fnuz ? 0x80 : sign | 0x7f;
    const f32 size = std::fabs(value);
    const int lowest = 1 - format.bias();
    const int exponent = size == 0 ? lowest : std::max(std::ilogb(size), lowest);
    const u32 over = format.fnuz ? 0x80 : format.has_infinity() ? sign | 0x7c : sign | 0x7f;
    if(std::isinf(value) || exponent > 64)
        return over;
    const u32 whole = u32(std::nearbyint(std::ldexp(f64(size), format.fraction - exponent)));
    const u32 code = whole + (u32(exponent - lowest) << format.fraction);  // a carry goes to the exponent
    const u32 most = format.fnuz ? 0x7f : format.has_infinity() ? 0x7b : 0x7e;
    if(code > most)
        return over;
    return format.fnuz && code == 0 ? 0 : sign | code;
}

}  // namespace emu
