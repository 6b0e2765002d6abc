// Copied by ckgen from templates/src/op/runner.cpp. Do not edit; run: ckgen generate
// Functions that the operators of all operations share.
#include "ckgen/op/runner.hpp"

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

int64 span_bytes(const conv::Tensor& tensor, int ndim, int64 element_bytes) {
    int64 elements = 1;
    for(int d = 0; d < ndim + 3; ++d)
        elements += (tensor.lengths[d] - 1) * tensor.strides[d];
    return elements * element_bytes;
}

}  // namespace ckgen::tensor_operation::device
