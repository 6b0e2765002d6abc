// What planning of every operation has in common: checks of a problem, and how many workgroups share GEMM-K.
#pragma once

#include <string>

#include "ckgen/conv/problem.hpp"

namespace ckgen::conv {

inline constexpr int64 kMaxStride = int64{1} << 40;  // elements; sums and byte counts of such stay far below 2^63

// NVIDIA's matrix units round partial sums toward zero; the other ways to multiply here round to nearest.
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
inline constexpr bool kTruncates = true;
#else
inline constexpr bool kTruncates = false;
#endif

std::string number(int64 value);

// "[rule] sentence".
std::string refuse(const char* rule, const std::string& sentence);

// A product that must stay in int64: false when it does not.
bool multiply(int64& value, int64 factor);

inline int64 divide_up(int64 a, int64 b) { return (a + b - 1) / b; }

// Refuses a value that is no multiple of the vector.
std::string check_multiple(const char* rule, const char* what, int64 value, int vector);
// Refuses strides, of dimensions longer than 1 other than the channels, that are no multiples of the vector.
std::string check_strides_multiple(const char* rule, const char* what, const Tensor& tensor, int ndim, int vector);
inline int64 address_of(const void* pointer) { return static_cast<int64>(reinterpret_cast<std::uintptr_t>(pointer)); }

// The problem with a stride of the packed tensor for every dimension of length 1: nothing is ever that far apart, so
// that callers may give any value, but checks and tensor maps look at all strides. Such a dimension takes the stride of
// the next longer one outside it, so that positions stay as far apart as they are, or goes past all that lies inside.
Problem with_unit_strides(Problem problem, const MemoryOrder& order);

// Refuses what is no convolution, whatever its layout: lengths that disagree, and sizes whose products would overflow.
std::string shapes_reason(const Problem& problem);

// Refuses strides that are not those of a channels-last tensor: channels (index 2) are contiguous, then spatial from
// the last dimension outwards, with the groups either inside the innermost position (NHWGC) or outside everything
// (GNHWC).
std::string check_strides(const char* name, const Tensor& t, int ndim, bool groups_outermost, bool packed_positions);

// The same for NGCHW.
std::string check_channels_first(const char* name, const Tensor& t, int ndim);

// Filter 1 (of any dilation), stride 1 and pad 0 in every dimension.
bool is_pointwise(const Problem& p);

// The least splits that give every compute unit two workgroups, which hide each other's barriers, while a split keeps
// four times `unit` tiles of GEMM-K to work on, and at most 128. `tiles`: workgroups without a split.
int64 fill_twice(int64 tiles, int64 k_tiles, int unit, int64 compute_units);

// Into how many sums `terms` must be cut for the error to keep the tolerance of f32 additions: 1 or more. A unit that
// rounds partial sums toward zero makes errors of one sign, so that n terms of random sign err by n^1.5 and not by n;
// in s sums they err by n^1.5 / s. On an H200 random terms pass the tolerance, which grows with n, at s = sqrt(n) /
// 134, or sqrt(n) / 93 in family halo, and s is to be sqrt(n) / 90.
int64 sums_of(bool truncates, int64 terms);

}  // namespace ckgen::conv
