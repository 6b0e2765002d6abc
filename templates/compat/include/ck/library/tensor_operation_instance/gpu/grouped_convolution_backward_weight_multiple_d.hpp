// The backward-weight operators with D tensors. No library has one, so every list is empty.
#pragma once

#include "ck/library/tensor_operation_instance/device_operation_instance_factory.hpp"
#include "ck/tensor_operation/gpu/device/device_grouped_conv_bwd_weight_multiple_d.hpp"

namespace ck::tensor_operation::device::instance {

template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class DsDataType, class Function, class ComputeTypeA,
          class ComputeTypeB>
struct DeviceOperationInstanceFactory<DeviceGroupedConvBwdWeightMultipleD<
    NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType, WeiDataType, OutDataType, DsDataType,
    PassThrough, Function, PassThrough, ComputeTypeA, ComputeTypeB>> {
    using DeviceOp = DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout,
                                                         InDataType, WeiDataType, OutDataType, DsDataType, PassThrough,
                                                         Function, PassThrough, ComputeTypeA, ComputeTypeB>;

    static auto GetInstances() { return std::vector<std::unique_ptr<DeviceOp>>{}; }
};

}  // namespace ck::tensor_operation::device::instance
