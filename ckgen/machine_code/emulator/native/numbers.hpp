// The number types and functions of AMD's instruction pseudocode.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "wave.hpp"

namespace emu {

using f32 = float;
using f64 = double;

template <class To, class From>
To bits_as(From from) {
    To to;
    static_assert(sizeof to == sizeof from);
    std::memcpy(&to, &from, sizeof to);
    return to;
}

inline u16 round_to_f16(f64 value) {
    const u64 raw = bits_as<u64>(value);
    const u16 sign = u16(raw >> 48 & 0x8000);
    const f64 size = std::fabs(value);
    if(std::isnan(value))
        return u16(sign | 0x7e00 | (raw >> 42 & 0x1ff));
    if(size >= 65520.0)
        return u16(sign | 0x7c00);
    if(size < 0x1p-14)  // subnormal: a multiple of 2^-24
        return u16(sign | u16(std::nearbyint(size * 0x1p24)));
    u64 rest = bits_as<u64>(size);
    rest += (u64(1) << 41) - 1 + (rest >> 42 & 1);
    return u16(sign | u16((rest >> 42) - (u64(1023 - 15) << 10)));
}
inline f32 f16_value(u16 raw) {
#if defined(__F16C__) && defined(__FLT16_MAX__)
    return static_cast<f32>(bits_as<_Float16>(raw));
#else
    const u32 sign = u32(raw & 0x8000) << 16, exponent = raw >> 10 & 31, fraction = raw & 0x3ff;
    if(exponent == 0)
        return (sign ? -1.0f : 1.0f) * f32(fraction) * 0x1p-24f;
    return bits_as<f32>(sign | (exponent == 31 ? 0xffu << 23 : (exponent + 112) << 23) | fraction << 13);
#endif
}
inline u16 round_to_bf16(f32 value) {
    const u32 raw = bits_as<u32>(value);
    if(std::isnan(value))
        return u16(raw >> 16 | 0x40);
    return u16((raw + 0x7fff + (raw >> 16 & 1)) >> 16);
}

// 16-bit numbers: arithmetic in f64, in which sums, products and FMAs of f16 are exact, and one rounding.
struct f16 {
    u16 raw = 0;
    f16() = default;
    f16(f64 value) : raw(round_to_f16(value)) {}
    operator f32() const { return f16_value(raw); }
};
struct bf16 {
    u16 raw = 0;
    bf16() = default;
    bf16(f32 value) : raw(round_to_bf16(value)) {}
    operator f32() const { return bits_as<f32>(u32(raw) << 16); }
};
inline f16 operator+(f16 a, f16 b) { return f16(f64(f32(a)) + f64(f32(b))); }
inline f16 operator-(f16 a, f16 b) { return f16(f64(f32(a)) - f64(f32(b))); }
inline f16 operator*(f16 a, f16 b) { return f16(f64(f32(a)) * f64(f32(b))); }
inline f16 operator/(f16 a, f16 b) { return f16(f64(f32(a)) / f64(f32(b))); }
inline f16 operator-(f16 a) {
    a.raw ^= 0x8000;
    return a;
}

// Integers of unusual widths.
struct u24 {
    u32 value;
    operator u32() const { return value; }
};
struct i24 {
    i32 value;
    operator i32() const { return value; }
};
struct u1 {
    u32 value;
    u1(u64 of = 0) : value(of & 1) {}
    operator u32() const { return value; }
};
struct i1 : u1 {
    using u1::u1;
};
struct u4 {
    u32 value;
    operator u32() const { return value; }
};
struct u3 {
    u32 value;
    operator u32() const { return value; }
};
using b8 = u8;
using b16 = u16;
using b32 = u32;
using b64 = u64;
using i128 = __int128;
using u128 = unsigned __int128;

// The bits of a value, in an unsigned integer.
template <class T>
auto raw(T value) {
    if constexpr(std::is_same_v<T, f32>)
        return bits_as<u32>(value);
    else if constexpr(std::is_same_v<T, f64>)
        return bits_as<u64>(value);
    else if constexpr(std::is_same_v<T, f16> || std::is_same_v<T, bf16>)
        return value.raw;
    else if constexpr(std::is_same_v<T, u24>)
        return value.value;
    else if constexpr(std::is_same_v<T, i24>)
        return u32(value.value) & 0xffffffu;
    else if constexpr(std::is_same_v<T, u1> || std::is_same_v<T, i1> || std::is_same_v<T, u3> || std::is_same_v<T, u4>)
        return value.value;
    else if constexpr(std::is_same_v<T, bool>)
        return u32(value);
    else if constexpr(std::is_same_v<T, i128>)
        return u128(value);
    else if constexpr(std::is_same_v<T, u128>)
        return value;
    else
        return std::make_unsigned_t<T>(value);
}

// `x.f32`: the low bits of a value as another type.
template <class To, class From>
To as(From from) {
    const auto bits = raw(from);
    if constexpr(std::is_same_v<To, f32>)
        return bits_as<f32>(u32(bits));
    else if constexpr(std::is_same_v<To, f64>)
        return bits_as<f64>(u64(bits));
    else if constexpr(std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
        To to;
        to.raw = u16(bits);
        return to;
    } else if constexpr(std::is_same_v<To, u24>)
        return u24{u32(bits) & 0xffffffu};
    else if constexpr(std::is_same_v<To, i24>)
        return i24{i32(u32(bits) << 8) >> 8};
    else if constexpr(std::is_same_v<To, u4>)
        return u4{u32(bits) & 15};
    else if constexpr(std::is_same_v<To, u3>)
        return u3{u32(bits) & 7};
    else
        return To(bits);
}
// The bits that an assignment to `D.f32` stores.
template <class To, class From>
auto stored(From from) {
    if constexpr(std::is_same_v<To, From>)
        return raw(from);
    else if constexpr(std::is_same_v<To, u24> || std::is_same_v<To, i24>)
        return u32(from) & 0xffffffu;
    else if constexpr(std::is_floating_point_v<From> && std::is_integral_v<To>)
        return raw(from);  // bits to bits: pseudocode converts explicitly
    else if constexpr(std::is_integral_v<From> && (std::is_same_v<To, f16> || std::is_same_v<To, bf16>))
        return u16(from);
    else
        return raw(To(from));
}

template <class T>
u64 field(T value, int high, int low) {
    const auto bits = raw(value);
    if(high < low) {  // reversed range: the bits in reverse order
        u64 result = 0;
        for(int at = high; at <= low; ++at)
            result |= u64(bits >> at & 1) << (low - at);
        return result;
    }
    const u64 rest = u64(bits >> low);
    return high - low >= 63 ? rest : rest & ((u64(1) << (high - low + 1)) - 1);
}
template <class T>
u32 bit(T value, int at) {
    return u32(raw(value) >> at & 1);
}
template <class T, class V>
void set_field(T& target, int high, int low, V value) {
    const u64 mask = high - low >= 63 ? ~u64(0) : (u64(1) << (high - low + 1)) - 1;
    target = T((u64(target) & ~(mask << low)) | ((u64(raw(value)) & mask) << low));
}
template <class A, class B>
auto joined(A a, B b) {  // { a, b }: a in the high bits
    if constexpr(sizeof(raw(a)) + sizeof(raw(b)) <= 4)
        return u32(u32(raw(a)) << 8 * sizeof(raw(b)) | u32(raw(b)));
    else
        return u64(u64(raw(a)) << 8 * sizeof(raw(b)) | u64(raw(b)));
}

inline i64 signext(i64 value) { return value; }
inline i32 signext_from_bit(i32 value, u32 width) {
    return width == 0 ? 0 : width >= 32 ? value : i32(u32(value) << (32 - width)) >> (32 - width);
}
template <class T>
T fma_(T a, T b, T c) {
    if constexpr(std::is_same_v<T, f32>)
        return __builtin_fmaf(a, b, c);
    else if constexpr(std::is_same_v<T, f64>)
        return __builtin_fma(a, b, c);
    else
        return T(f64(f32(a)) * f64(f32(b)) + f64(f32(c)));
}
// Conversions to integers saturate, and NaN becomes zero: "CDNA3 ISA", V_CVT_U32_F32 and V_CVT_I32_F32.
template <class To>
To to_integer(f64 value) {
    if(std::isnan(value))
        return 0;
    const f64 cut = std::trunc(value);
    if(cut <= f64(std::numeric_limits<To>::min()))
        return std::numeric_limits<To>::min();
    if(cut >= f64(std::numeric_limits<To>::max()))
        return std::numeric_limits<To>::max();
    return To(cut);
}
inline u32 f32_to_u32(f32 value) { return to_integer<u32>(value); }
inline i32 f32_to_i32(f32 value) { return to_integer<i32>(value); }
inline u32 f64_to_u32(f64 value) { return to_integer<u32>(value); }
inline i32 f64_to_i32(f64 value) { return to_integer<i32>(value); }
inline i16 f16_to_i16(f16 value) { return to_integer<i16>(f32(value)); }
inline u16 f16_to_u16(f16 value) { return to_integer<u16>(f32(value)); }
inline f32 u32_to_f32(u32 value) { return f32(value); }
inline f32 i32_to_f32(i32 value) { return f32(value); }
inline f64 u32_to_f64(u32 value) { return f64(value); }
inline f64 i32_to_f64(i32 value) { return f64(value); }
inline f16 u16_to_f16(u16 value) { return f16(f64(value)); }
inline f16 i16_to_f16(i16 value) { return f16(f64(value)); }
inline f16 f32_to_f16(f32 value) { return f16(f64(value)); }
inline f32 f16_to_f32(f16 value) { return value; }
inline bf16 f32_to_bf16(f32 value) { return bf16(value); }
inline f32 bf16_to_f32(bf16 value) { return value; }
inline f32 f64_to_f32(f64 value) { return f32(value); }
inline f64 f32_to_f64(f32 value) { return value; }
inline i32 i8_to_i32(i8 value) { return value; }
inline u32 u8_to_u32(u8 value) { return value; }
inline i32 i16_to_i32(i16 value) { return value; }
inline u32 u16_to_u32(u16 value) { return value; }
inline f32 trunc_(f32 v) { return std::trunc(v); }
inline f64 trunc_(f64 v) { return std::trunc(v); }
inline f16 trunc_(f16 v) { return f16(std::trunc(f64(f32(v)))); }
inline f32 floor_(f32 v) { return std::floor(v); }
inline f64 floor_(f64 v) { return std::floor(v); }
inline f32 sqrt_(f32 v) { return std::sqrt(v); }
inline f64 sqrt_(f64 v) { return std::sqrt(v); }
inline f16 sqrt_(f16 v) { return f16(std::sqrt(f64(f32(v)))); }
inline f32 log2_(f32 v) { return std::log2(v); }
inline f32 fract_(f32 v) { return std::min(v - std::floor(v), 0x1.fffffep-1f); }
template <class A, class B>
auto power(A a, B b) {
    return A(std::pow(f64(a), f64(b)));
}
template <class T>
bool isNAN(T v) {
    return std::isnan(f64(v));
}
template <class T>
bool isINF(T v) {
    return std::isinf(f64(v));
}
inline bool isSignalNAN(f32 v) { return std::isnan(v) && !(bits_as<u32>(v) & 1u << 22); }
inline bool isSignalNAN(f64 v) { return std::isnan(v) && !(bits_as<u64>(v) & u64(1) << 51); }
inline bool isSignalNAN(f16 v) { return isNAN(f32(v)) && !(v.raw & 0x200); }
template <class T>
bool isQuietNAN(T v) {
    return isNAN(v) && !isSignalNAN(v);
}
template <class T>
u32 sign_(T v) {
    return u32(raw(v) >> (8 * sizeof(v) - 1) & 1);
}
template <class A, class B>
bool unlike(A a, B b) {  // a <> b: not equal, and with a NaN false
    if constexpr(std::is_integral_v<A> && std::is_integral_v<B>)
        return a != b;
    else
        return f64(a) < f64(b) || f64(a) > f64(b);
}
inline i32 exponent(f32 v) { return i32(bits_as<u32>(v) >> 23 & 0xff); }
inline i32 exponent(f64 v) { return i32(bits_as<u64>(v) >> 52 & 0x7ff); }
template <class T>
T abs_(T v) {
    return v < T(0) ? T(-v) : v;
}
inline f32 abs_(f32 v) { return std::fabs(v); }
inline f64 abs_(f64 v) { return std::fabs(v); }
template <class T>
T ldexp_(T v, i32 by) {
    return T(std::ldexp(v, by));
}

// v_perm_b32, one byte: "CDNA3 ISA", V_PERM_B32.
inline u32 permuted_byte(u64 data, u32 selector) {
    if(selector >= 13)
        return 0xff;
    if(selector == 12)
        return 0;
    if(selector >= 8)
        return data >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    return u32(data >> 8 * selector & 0xff);
}

}  // namespace emu
