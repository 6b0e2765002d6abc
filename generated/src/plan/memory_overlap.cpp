// Copied by ckgen from templates/src/plan/memory_overlap.cpp. Do not edit; run: ckgen generate
// Detects tensors that overlap. A tensor is modelled as runs of bytes without gaps, at multiples of a common distance.
#include "ckgen/plan/memory_overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::conv {
namespace {

struct Runs {
    uint64 begin;  // address of the first byte
    uint64 bytes;  // from there to the end of the last byte
    uint64 run;    // bytes per run; runs start at `begin` plus multiples of `apart`
    uint64 apart;  // 0 if there is one run
};

Runs runs_of(const Placed& tensor) {
    std::vector<std::pair<uint64, uint64>> axes;  // distance in bytes, number of steps
    for(int axis = 0; axis < 3 + tensor.ndim; ++axis)
        if(tensor.shape.lengths[axis] > 1 && tensor.shape.strides[axis] > 0)
            axes.emplace_back(static_cast<uint64>(tensor.shape.strides[axis]) * static_cast<uint64>(tensor.elem_bytes),
                              static_cast<uint64>(tensor.shape.lengths[axis] - 1));
    std::sort(axes.begin(), axes.end());
    const auto element = static_cast<uint64>(tensor.elem_bytes);
    Runs result{static_cast<uint64>(reinterpret_cast<std::uintptr_t>(tensor.data)), element, element, 0};
    for(const auto& [distance, steps] : axes) {
        if(result.apart == 0 && distance <= result.run)
            result.run += distance * steps;
        else
            result.apart = std::gcd(result.apart, distance);
        result.bytes += distance * steps;
    }
    return result;
}

}  // namespace

bool overlap(const Placed& a, const Placed& b) {
    if(a.data == nullptr || b.data == nullptr)
        return false;
    const Runs x = runs_of(a);
    const Runs y = runs_of(b);
    if(x.begin + x.bytes <= y.begin || y.begin + y.bytes <= x.begin)
        return false;
    // Runs start at these places in every interval of `apart` bytes; a run as long as the interval leaves no gap.
    const uint64 apart = std::gcd(x.apart, y.apart);
    if(apart == 0)
        return true;
    const uint64 ahead = (y.begin % apart + apart - x.begin % apart) % apart;  // from a run of x to the next of y
    return ahead < x.run || apart - ahead < y.run;
}

std::string overlap_reason(const std::vector<Placed>& tensors) {
    for(std::size_t i = 1; i < tensors.size(); ++i)
        if(overlap(tensors[0], tensors[i]))
            return refuse("overlap", std::string("the ") + tensors[0].name + ", which is written, overlaps the " +
                                         tensors[i].name + ", which is read");
    return {};
}

std::string workspace_overlap_reason(const void* workspace, int64 bytes, const std::vector<Placed>& tensors) {
    Placed memory{"workspace", workspace, {}, 1, 1};
    memory.shape.lengths = {1, 1, bytes, 1};
    memory.shape.strides = {1, 1, 1, 1};
    for(const Placed& tensor : tensors)
        if(bytes > 0 && overlap(memory, tensor))
            return refuse("overlap", std::string("the workspace overlaps the ") + tensor.name);
    return {};
}

}  // namespace ckgen::conv
