// Functions that the operators of all operations share.
#include "ckgen/op/runner.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "ckgen/platform/process_mutex.hpp"

namespace ckgen::tensor_operation::device {

std::string DeviceReasons::of(platform::KernelEntry entry, int lds_bytes) const {
    const int device = platform::current_device();
    {
        const std::lock_guard<std::mutex> lock(platform::process_mutex());
        const auto known = known_.find(device);
        if(known != known_.end())
            return known->second;
    }
    std::string reason = platform::kernel_reason(entry, lds_bytes);
    const std::lock_guard<std::mutex> lock(platform::process_mutex());
    return known_.emplace(device, std::move(reason)).first->second;
}

std::string type_string(const std::string& class_name, std::initializer_list<int> tile, ConvSpec conv_spec,
                        std::initializer_list<int> rest) {
    std::string text = class_name + "<";
    for(const int value : tile)
        text += std::to_string(value) + ", ";
    text += conv_spec == ConvSpec::Default ? "Default" : "Filter1x1Stride1Pad0";
    for(const int value : rest)
        text += ", " + std::to_string(value);
    return text + ">";
}

void LaunchPlan::tell(void* to, int64 capacity, int64* args_bytes, uint32* grid, uint32* block) const {
    if(args_bytes == nullptr || grid == nullptr || block == nullptr)
        throw std::invalid_argument("[null-pointer] args_bytes, blocks or threads is null");
    *args_bytes = static_cast<int64>(args.size());
    *grid = blocks;
    *block = static_cast<uint32>(threads);
    if(to != nullptr && capacity >= *args_bytes)
        std::copy(args.begin(), args.end(), static_cast<char*>(to));
}

int64 span_bytes(const conv::Tensor& tensor, int ndim, int64 element_bytes) {
    int64 elements = 1;
    for(int d = 0; d < ndim + 3; ++d)
        elements += (tensor.lengths[d] - 1) * tensor.strides[d];
    return elements * element_bytes;
}

}  // namespace ckgen::tensor_operation::device
