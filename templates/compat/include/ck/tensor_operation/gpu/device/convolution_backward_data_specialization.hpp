// The convolutions that a backward-data kernel is restricted to. Instances are Default or Filter1x1Stride1Pad0.
#pragma once

#include "ck/ck.hpp"

namespace ck::tensor_operation::device {

enum struct ConvolutionBackwardDataSpecialization { Default, Filter1x1Stride1Pad0 };

inline std::string getConvBackwardDataSpecializationString(ConvolutionBackwardDataSpecialization specialization) {
    switch(specialization) {
    case ConvolutionBackwardDataSpecialization::Default:
        return "Default";
    case ConvolutionBackwardDataSpecialization::Filter1x1Stride1Pad0:
        return "Filter1x1Stride1Pad0";
    default:
        return "Unrecognized specialization";
    }
}

}  // namespace ck::tensor_operation::device
