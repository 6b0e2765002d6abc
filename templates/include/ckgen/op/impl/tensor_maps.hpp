// Asks the driver about an instance's tensor maps when a problem is planned, so that what it refuses is no launch that
// fails. Base of the families whose kernels take tensor maps.
#pragma once

#include <string>

#include "ckgen/platform/tensor_map.hpp"

namespace ckgen::tensor_operation::device {

struct TensorMaps {
    // Why the driver does not take the tensor maps that encode() makes, or nothing.
    template <class Encode>
    static std::string tensor_map_reason(const Encode& encode) {
        if(!platform::encodes_tensor_maps())
            return {};
        try {
            encode();
        } catch(const platform::TensorMapRefused& refused) {
            return std::string("[tensor-map] ") + refused.what();
        }
        return {};
    }
};

}  // namespace ckgen::tensor_operation::device
