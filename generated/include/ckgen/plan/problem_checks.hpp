// Copied by ckgen from templates/include/ckgen/plan/problem_checks.hpp. Do not edit; run: ckgen generate
// Checks of a problem, and the number of workgroups that share GEMM-K, for the planning of every operation.
#pragma once

#include <string>

#include "ckgen/conv/problem.hpp"
#include "ckgen/conv/problem_sizes.hpp"

namespace ckgen::conv {

inline constexpr int64 kMostRows = 0x7fffffff - 4096;  // of 31 bits: leaves room for a tile's rows past the last
inline constexpr int64 kMaxStride = int64{1} << 40;    // elements; sums and byte counts of these stay far below 2^63

// NVIDIA's matrix units round partial sums toward zero. All other multiplications here round to nearest.
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
inline constexpr bool kTruncates = true;
#else
inline constexpr bool kTruncates = false;
#endif

std::string number(int64 value);

// Returns "[rule] sentence".
std::string refuse(const char* rule, const std::string& sentence);

// Multiplies `value` by `factor`; false if the product exceeds int64.
bool multiply(int64& value, int64 factor);

// Refuses a value that is not a multiple of the vector.
std::string check_multiple(const char* rule, const char* what, int64 value, int vector);
// Refuses strides that are not multiples of the vector, in dimensions longer than 1 other than the channels.
std::string check_strides_multiple(const char* rule, const char* what, const Tensor& tensor, int ndim, int vector);
inline int64 address_of(const void* pointer) { return static_cast<int64>(reinterpret_cast<std::uintptr_t>(pointer)); }

// The axes of a tensor, with the groups first if they are separate in memory although its layout has them beside the
// channels.
Axes by_groups(const Axes& axes, const Tensor& tensor, int ndim);

// The problem in which every dimension of length 1 has the stride of the packed tensor. Callers may give any stride for
// such a dimension, because no elements are that far apart, but checks and tensor maps look at all strides. The
// dimension takes the stride of the next longer one outside it, so that positions stay as far apart as they are; if
// there is none, a stride past everything inside it.
Problem with_unit_strides(Problem problem, const MemoryOrder& order);

// Refuses a problem that is not a convolution in any layout: lengths that disagree, and sizes whose products overflow.
std::string shapes_reason(const Problem& problem);

// Refuses strides that do not belong to a channels-last tensor: channels (index 2) are contiguous, then spatial
// dimensions from the last outwards, with the groups either inside the innermost position (NHWGC) or outside everything
// (GNHWC).
std::string check_strides(const char* name, const Tensor& t, int ndim, bool groups_outermost, bool packed_positions);

// Refuses strides that do not belong to a tensor with these axes, of which the fastest is contiguous. With
// packed_positions, positions of an image follow each other without gaps.
std::string check_axes(const char* name, const Tensor& t, int ndim, const Axes& axes, bool packed_positions);

// True for filter 1 (with any dilation), stride 1 and pad 0 in every dimension.
bool is_pointwise(const Problem& p);

// The smallest number of splits that gives every compute unit two workgroups, which hide each other's barriers. A split
// keeps at least four times `unit` tiles of GEMM-K; the result is at most 128. `tiles`: workgroups without a split.
int64 fill_twice(int64 tiles, int64 k_tiles, int unit, int64 compute_units);

// Number of sums into which `terms` must be cut so that the error meets the tolerance of f32 additions; at least 1. A
// unit that rounds partial sums toward zero makes errors of one sign: n terms of random sign err by n^1.5 instead of n,
// and in s sums by n^1.5 / s. The tolerance grows with n. On an H200 random terms meet it at s = sqrt(n) / 134, or
// sqrt(n) / 93 in family halo; this function uses s = sqrt(n) / 90.
int64 sums_of(bool truncates, int64 terms);

}  // namespace ckgen::conv
