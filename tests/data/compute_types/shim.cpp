// Conversions of ckgen/compute_types.hpp and ckgen/types.hpp over arrays, for ctypes.
#include "ckgen/compute_types.hpp"

using namespace ckgen;

namespace {

template <class Format>
void codes_of(const float* values, uint8* codes, int64 count, bool saturate) {
    for(int64 i = 0; i < count; ++i)
        codes[i] = Format::code(values[i], saturate ? Overflow::Saturate : Overflow::Infinite);
}
template <class Format>
void values_of(const uint8* codes, float* values) {
    for(int code = 0; code < 256; ++code)
        values[code] = Format::value(codes[code]);
}

}  // namespace

extern "C" {

// Fraction bits 3: E4M3, 2: E5M2.
void codes(int fraction, int fnuz, int saturate, const float* values, uint8* result, int64 count) {
    if(fraction == 3)
        fnuz != 0 ? codes_of<E4M3<F8Codes::Fnuz>>(values, result, count, saturate != 0)
                  : codes_of<E4M3<F8Codes::Ocp>>(values, result, count, saturate != 0);
    else
        fnuz != 0 ? codes_of<E5M2<F8Codes::Fnuz>>(values, result, count, saturate != 0)
                  : codes_of<E5M2<F8Codes::Ocp>>(values, result, count, saturate != 0);
}
void numbers(int fraction, int fnuz, const uint8* all, float* result) {
    if(fraction == 3)
        fnuz != 0 ? values_of<E4M3<F8Codes::Fnuz>>(all, result) : values_of<E4M3<F8Codes::Ocp>>(all, result);
    else
        fnuz != 0 ? values_of<E5M2<F8Codes::Fnuz>>(all, result) : values_of<E5M2<F8Codes::Ocp>>(all, result);
}

// The values that kernels of this build multiply, and those that references of each encoding do.
int own_codes() { return static_cast<int>(kF8Codes); }
void multiplied(const half_t* values, float* as_f8, float* as_bf8, int64 count) {
    for(int64 i = 0; i < count; i += 2) {
        const half_t pair[2] = {values[i], values[i + 1]};
        f8_t f8[2];
        bf8_t bf8[2];
        convert(pair, f8);
        convert(pair, bf8);
        for(int e = 0; e < 2; ++e) {
            as_f8[i + e] = to_float(f8[e]);
            as_bf8[i + e] = to_float(bf8[e]);
        }
    }
}
void referenced(int fnuz, const half_t* values, float* as_f8, float* as_bf8, int64 count) {
    const F8Codes codes = fnuz != 0 ? F8Codes::Fnuz : F8Codes::Ocp;
    for(int64 i = 0; i < count; ++i) {
        as_f8[i] = RoundedTo<f8_t>::by(codes, to_float(values[i]));
        as_bf8[i] = RoundedTo<bf8_t>::by(codes, to_float(values[i]));
    }
}

void tf32(const float* values, float* result, int64 count) {
    for(int64 i = 0; i < count; ++i)
        result[i] = to_float(Convert<tf32_t>::from(values[i]));
}
void int8_of_floats(const float* values, int8* result, int64 count) {
    for(int64 i = 0; i < count; ++i)
        result[i] = Convert<int8>::from(values[i]);
}
void int8_of_ints(const int32* values, int8* result, int64 count) {
    for(int64 i = 0; i < count; ++i)
        result[i] = Convert<int8>::from(values[i]);
}
}
