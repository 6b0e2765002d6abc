// A convolution with two groups as a program for CK describes it, as code that the program adds to namespace ck.
#pragma once

#include "ck/ck.hpp"
#include "ck/library/utility/check_err.hpp"
#include "ck/library/utility/convolution_host_tensor_descriptor_helper.hpp"
#include "ck/library/utility/convolution_parameter.hpp"
#include "ck/library/utility/device_memory.hpp"
#include "ck/library/utility/host_tensor.hpp"
#include "ck/library/utility/host_tensor_generator.hpp"
#include "ck/tensor_operation/gpu/device/tensor_layout.hpp"
#include "ck/tensor_operation/gpu/element/element_wise_operation.hpp"

namespace ck::own {

using namespace tensor_layout::convolution;
using PassThrough = tensor_operation::element_wise::PassThrough;

inline const utils::conv::ConvParam& problem() {
    static const utils::conv::ConvParam param(2, 2, 3, 8, 16, {3, 2}, {7, 6}, {2, 1}, {1, 2}, {1, 1}, {1, 0});
    return param;
}

template <class Index, std::size_t N, class Values>
std::array<Index, N> array_of(const Values& values) {
    std::array<Index, N> array{};
    ranges::copy(values, array.begin());
    return array;
}

// Lengths and strides of one tensor.
template <class Index, std::size_t NDim = 2>
struct Sizes {
    std::array<Index, NDim + 3> lengths, strides;
    explicit Sizes(const HostTensorDescriptor& tensor)
        : lengths(array_of<Index, NDim + 3>(tensor.GetLengths())),
          strides(array_of<Index, NDim + 3>(tensor.GetStrides())) {}
};

template <class T>
Tensor<T> integers(const HostTensorDescriptor& descriptor) {
    Tensor<T> tensor(descriptor);
    tensor.GenerateTensorValue(GeneratorTensor_2<T>{-3, 3});
    return tensor;
}

template <class T>
struct OnDevice : DeviceMem {
    explicit OnDevice(const Tensor<T>& tensor) : DeviceMem(tensor.GetElementSpaceSizeInBytes()) {
        ToDevice(tensor.data());
    }
};

}  // namespace ck::own
