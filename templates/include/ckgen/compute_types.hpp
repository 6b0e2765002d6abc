// Types in which kernels multiply but which no tensor has: 8-bit floating point and tf32. Values are rounded to them on
// their way to LDS.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen {

// The two ways to encode 8-bit floating point. Ocp: the Open Compute Project's E4M3 without infinities and E5M2 with
// them. Fnuz: an exponent bias that is larger by one, no infinity, no negative zero; NaN is the code of minus zero.
enum class F8Codes { Ocp, Fnuz };

// The codes that the architecture's instructions take: gfx942 has Fnuz, later ones have Ocp (AMD "CDNA3" and "CDNA4
// ISA", 8-bit floating point). gfx90a has no such instructions; CK gives it Fnuz (utility/amd_xdlops.hpp and
// utility/type_convert.hpp convert these values to f32 there).
#if defined(__gfx942__) || defined(__gfx90a__) || (defined(CKGEN_HOST_F8_FNUZ) && CKGEN_HOST_F8_FNUZ)
inline constexpr F8Codes kF8Codes = F8Codes::Fnuz;
#else
inline constexpr F8Codes kF8Codes = F8Codes::Ocp;
#endif

// The result for a finite value past the largest number: infinity, or NaN where the type has none; or the largest
// number. Infinities and NaN do not become numbers in either case.
enum class Overflow { Infinite, Saturate };

// A constant in a vector register. gfx9's instructions with three operands take no literals, so constants of a loop
// would otherwise fill the scalar registers (LLVM, AMDGPUUsage: VOP3 literals from gfx10 on).
CKGEN_HD uint32 vector_constant(uint32 value) {
#if defined(__gfx90a__) || defined(__gfx942__)
    asm("" : "+v"(value));
#endif
    return value;
}

// An 8-bit type with `Fraction` fraction bits.
template <int Fraction, F8Codes Codes>
struct F8Format {
    static constexpr int fraction = Fraction;
    static constexpr bool fnuz = Codes == F8Codes::Fnuz;
    static constexpr bool has_infinity = !fnuz && Fraction == 2;
    static constexpr int bias = (1 << (6 - Fraction)) - (fnuz ? 0 : 1);
    static constexpr uint32 largest = fnuz ? 0x7fu : has_infinity ? 0x7bu : 0x7eu;  // finite
    static constexpr float largest_value =                                          // 448, 57344, 240, 57344
        Fraction == 2 ? 57344.f
        : fnuz        ? 240.f
                      : 448.f;
    static constexpr uint32 infinity = 0x7cu;
    static constexpr uint32 nan = fnuz ? 0x80u : has_infinity ? 0x7eu : 0x7fu;
    static constexpr int cut = 23 - Fraction;                                // fraction bits that f32 has in addition
    static constexpr uint32 rebias = static_cast<uint32>(127 - bias) << 23;  // from this exponent to that of f32
    static constexpr uint32 magic = static_cast<uint32>(127 + 23 + 1 - bias - Fraction)
                                    << 23;  // spacing of subnormals times 2^23

    // The code of the nearest number; ties go to the even code.
    static CKGEN_HD uint8 code(float x, Overflow overflow) {
        const uint32 bits = __builtin_bit_cast(uint32, x);
        const uint32 size = bits << 1 >> 1;
        // Adding `magic` to a subnormal result leaves its multiple of the spacing in the lowest bits.
        const uint32 base = vector_constant(magic);
        const uint32 small =
            __builtin_bit_cast(uint32, __builtin_bit_cast(float, size) + __builtin_bit_cast(float, base)) - base;
        const uint32 normal = (size + vector_constant((1u << (cut - 1)) - 1u - rebias) + (size >> cut & 1u)) >> cut;
        uint32 result = size < vector_constant(rebias + (1u << 23)) ? small : normal;
        const uint32 f32_infinity = vector_constant(0x7f800000u);
        const uint32 no_number = vector_constant(nan);
        if(size >= f32_infinity || result > vector_constant(largest)) {
            const uint32 beyond = has_infinity ? infinity : no_number;
            const bool saturates = size < f32_infinity && overflow == Overflow::Saturate;
            result = size > f32_infinity ? no_number : saturates ? vector_constant(largest) : beyond;
        }
        const bool unsigned_code = fnuz && (result == 0 || result == no_number);
        return static_cast<uint8>(unsigned_code ? result : result | (bits >> 31 << 7));
    }

    static CKGEN_HD float value(uint8 code) {
        const uint32 sign = static_cast<uint32>(code) >> 7 << 31;
        const uint32 rest = static_cast<uint32>(code) - (static_cast<uint32>(code) >> 7 << 7);
        const uint32 spacing = vector_constant(magic - (23u << 23));
        const float subnormal = static_cast<float>(rest) * __builtin_bit_cast(float, spacing);
        uint32 bits =
            rest < (1u << Fraction) ? __builtin_bit_cast(uint32, subnormal) : (rest << cut) + vector_constant(rebias);
        if(fnuz ? code == vector_constant(nan) : rest > largest)
            bits = has_infinity && rest == infinity ? 0x7f800000u : vector_constant(0x7fc00000u);
        return __builtin_bit_cast(float, bits | sign);
    }
};
template <F8Codes Codes>
using E4M3 = F8Format<3, Codes>;
template <F8Codes Codes>
using E5M2 = F8Format<2, Codes>;

// f8_t is E4M3, bf8_t is E5M2, as CK names them.
struct f8_t {
    uint8 bits;
};
struct bf8_t {
    uint8 bits;
};
// f32 with 10 fraction bits, kept in an f32.
struct tf32_t {
    float value;
};

// gfx942 and later have instructions that convert, rounding to nearest even.
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx1200__) || defined(__gfx1201__)
CKGEN_HD float to_float(f8_t x) { return __builtin_amdgcn_cvt_f32_fp8(x.bits, 0); }
CKGEN_HD float to_float(bf8_t x) { return __builtin_amdgcn_cvt_f32_bf8(x.bits, 0); }

// `x` as the instructions take it: they turn finite values past the largest number into NaN or infinity.
template <class Format>
CKGEN_DEVICE float saturated(float x) {
    constexpr float value = Format::largest_value;  // a local copy: of the member, the address would be taken
    const uint32 bits = vector_constant(__builtin_bit_cast(uint32, value));
    const float largest = __builtin_bit_cast(float, bits);
    const float inside = __builtin_amdgcn_fmed3f(x, -largest, largest);
    return __builtin_bit_cast(uint32, x) << 1 < vector_constant(0xff000000u) ? inside : x;
}
// The codes of two values, in the low half of the word.
CKGEN_DEVICE uint32 codes_of(f8_t, float low, float high) {
    using Format = E4M3<kF8Codes>;
    const int codes = __builtin_amdgcn_cvt_pk_fp8_f32(saturated<Format>(low), saturated<Format>(high), 0, false);
    return static_cast<uint32>(codes);
}
CKGEN_DEVICE uint32 codes_of(bf8_t, float low, float high) {
    using Format = E5M2<kF8Codes>;
    const int codes = __builtin_amdgcn_cvt_pk_bf8_f32(saturated<Format>(low), saturated<Format>(high), 0, false);
    return static_cast<uint32>(codes);
}
#define CKGEN_F8_INSTRUCTIONS 1
#else
CKGEN_HD float to_float(f8_t x) { return E4M3<kF8Codes>::value(x.bits); }
CKGEN_HD float to_float(bf8_t x) { return E5M2<kF8Codes>::value(x.bits); }
#define CKGEN_F8_INSTRUCTIONS 0
#endif
CKGEN_HD float to_float(tf32_t x) { return x.value; }

template <>
struct Convert<f8_t> {
    static CKGEN_HD f8_t from(float x) {
#if CKGEN_F8_INSTRUCTIONS
        return f8_t{static_cast<uint8>(codes_of(f8_t{}, x, x) & 0xffu)};
#else
        return f8_t{E4M3<kF8Codes>::code(x, Overflow::Saturate)};
#endif
    }
};
template <>
struct Convert<bf8_t> {
    static CKGEN_HD bf8_t from(float x) {
#if CKGEN_F8_INSTRUCTIONS
        return bf8_t{static_cast<uint8>(codes_of(bf8_t{}, x, x) & 0xffu)};
#else
        return bf8_t{E5M2<kF8Codes>::code(x, Overflow::Saturate)};
#endif
    }
};
template <>
struct Convert<tf32_t> {
    // Rounds to nearest, ties away from zero, as PTX's cvt.rna.tf32.f32 does (PTX ISA 9.0, 9.7.9.21).
    static CKGEN_HD tf32_t from(float x) {
        const uint32 bits = __builtin_bit_cast(uint32, x);
        const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        const uint32 rounded = (is_nan ? bits | 0x400000u : bits + 0x1000u) & ~0x1fffu;
        return tf32_t{__builtin_bit_cast(float, rounded)};
    }
};

// An array of several elements, each rounded from From to To.
template <class To, class From, int N>
CKGEN_DEVICE void convert(const From (&source)[N], To (&target)[N]) {
    CKGEN_UNROLL
    for(int i = 0; i < N; ++i)
        target[i] = Convert<To>::from(to_float(source[i]));
}
#if CKGEN_F8_INSTRUCTIONS
template <class To, class From, int N>
CKGEN_DEVICE void convert_pairs(const From (&source)[N], To (&target)[N]) {
    CKGEN_UNROLL
    for(int i = 0; i < N; i += 2) {
        const uint32 codes = codes_of(To{}, to_float(source[i]), to_float(source[min_of(i + 1, N - 1)]));
        target[i].bits = static_cast<uint8>(codes & 0xffu);
        target[min_of(i + 1, N - 1)].bits = static_cast<uint8>(codes >> (N == 1 ? 0 : 8) & 0xffu);
    }
}
template <class From, int N>
CKGEN_DEVICE void convert(const From (&source)[N], f8_t (&target)[N]) {
    convert_pairs(source, target);
}
template <class From, int N>
CKGEN_DEVICE void convert(const From (&source)[N], bf8_t (&target)[N]) {
    convert_pairs(source, target);
}
#endif

// A value rounded to T, with the encoding of another architecture if T has several: for references on the CPU.
template <class T>
struct RoundedTo {
    static CKGEN_HD float by(F8Codes, float x) { return x; }
};
template <>
struct RoundedTo<tf32_t> {
    static CKGEN_HD float by(F8Codes, float x) { return to_float(Convert<tf32_t>::from(x)); }
};
template <int Fraction>
struct RoundedToF8 {
    static CKGEN_HD float by(F8Codes codes, float x) {
        return codes == F8Codes::Fnuz ? round<F8Codes::Fnuz>(x) : round<F8Codes::Ocp>(x);
    }

private:
    template <F8Codes Codes>
    static CKGEN_HD float round(float x) {
        using Format = F8Format<Fraction, Codes>;
        return Format::value(Format::code(x, Overflow::Saturate));
    }
};
template <>
struct RoundedTo<f8_t> : RoundedToF8<3> {};
template <>
struct RoundedTo<bf8_t> : RoundedToF8<2> {};

}  // namespace ckgen
