// Copied by ckgen from templates/include/ckgen/plan/depthwise_checks.hpp. Do not edit; run: ckgen generate
// The parts that the planners of family depthwise share.
#pragma once

#include <string>

#include "ckgen/plan/plan.hpp"

namespace ckgen::conv::depthwise {

inline constexpr int64 kMostThreads = int64{1} << 32;
// Bytes of global memory that the threads of a workgroup address at once.
inline constexpr int64 kMaxWindow = 0x7ffffff0;
// Workgroups per compute unit: a few are resident at once, and the last ones end together.
inline constexpr int kWorkgroupsPerUnit = 8;

// A thread reads and writes `vector` neighbouring groups of a tensor at once.
std::string check_tensor(const char* name, const Tensor& tensor, const void* data, int bytes, int ndim, int vector);

// One input channel per group, and groups that fill vectors.
std::string check_groups(const InstanceTraits& t, const Problem& p, const Addresses& at, int in_bytes);

// Strips of an image: at most and at least, where residues of the positions differ. The most may be any number above
// 31 bits instead.
struct StripCount {
    int64 most = 1, least = 1;

    void times(int64 most_more, int64 least_more);
};

// Refuses strips whose number exceeds 31 bits, or images too large for `threads` threads with neighbouring strips.
std::string check_strips(int64 images, const StripCount& per_image, int threads, int64 image_bytes);

// Bytes from the first element of an image to the last, and at least those between images.
int64 image_bytes(const Tensor& t, int ndim, int bytes);

// Strips of `distance` residues that cover `length` positions of the innermost dimension.
int64 strips_of(int64 length, int64 distance, int positions);

// Rows of a sweep: enough to make its first rows, which are only read, a small part, or fewer if workgroups would leave
// a part of the GPU idle. `length`: rows of the result; `filled`: the workgroups if each sweep had all rows, in
// multiples of those that run at once.
int rows_of_sweep(int length, int filter_rows, double filled);

}  // namespace ckgen::conv::depthwise
