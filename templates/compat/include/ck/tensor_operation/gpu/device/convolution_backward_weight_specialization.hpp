// The convolutions that a backward-weight kernel is restricted to. Instances are Default or Filter1x1Stride1Pad0; class
// templates take the others too: filter 1 without padding, and an odd number of input channels.
#pragma once

#include "ck/ck.hpp"

namespace ck::tensor_operation::device {

enum struct ConvolutionBackwardWeightSpecialization { Default, Filter1x1Stride1Pad0, Filter1x1Pad0, OddC };

inline std::string getConvBackwardWeightSpecializationString(ConvolutionBackwardWeightSpecialization specialization) {
    switch(specialization) {
    case ConvolutionBackwardWeightSpecialization::Default:
        return "Default";
    case ConvolutionBackwardWeightSpecialization::Filter1x1Stride1Pad0:
        return "Filter1x1Stride1Pad0";
    case ConvolutionBackwardWeightSpecialization::Filter1x1Pad0:
        return "Filter1x1Pad0";
    case ConvolutionBackwardWeightSpecialization::OddC:
        return "OddC";
    default:
        return "Unrecognized specialization";
    }
}

}  // namespace ck::tensor_operation::device
