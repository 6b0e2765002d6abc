// Instances of backward weight for operator types with element-wise operations of the operands: those of the library,
// wrapped. The lists for PassThrough operands are more specialised, in the generated header.
#pragma once

#include <memory>
#include <vector>

#include "ckgen/library/factory.hpp"
#include "ckgen/op/bwd_weight_operand_ops.hpp"

namespace ckgen::tensor_operation::device::instance {

// Supported: true if the library's instances can apply the operations; else the list is empty.
template <class DeviceOp, bool Supported>
auto wrapped_instances() {
    std::vector<std::unique_ptr<DeviceOp>> instances;
    if constexpr(Supported) {
        using Wrapped = BwdWeightOperandOps<DeviceOp>;
        for(auto& inner : DeviceOperationInstanceFactory<typename Wrapped::Inner>::GetInstances())
            instances.push_back(std::make_unique<Wrapped>(std::move(inner)));
    }
    return instances;
}

template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType, class WeiDataType,
          class OutDataType, class InOp, class WeiOp, class OutOp, class ComputeTypeA, class ComputeTypeB>
struct DeviceOperationInstanceFactory<
    DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType, OutDataType, InOp,
                               WeiOp, OutOp, ComputeTypeA, ComputeTypeB>> {
    using DeviceOp = DeviceGroupedConvBwdWeight<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType,
                                                OutDataType, InOp, WeiOp, OutOp, ComputeTypeA, ComputeTypeB>;
    static auto GetInstances() { return wrapped_instances<DeviceOp, kHasOperandOps<InOp, WeiOp, OutOp>>(); }
};

template <index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class DsLayout, class InDataType,
          class WeiDataType, class OutDataType, class DsDataType, class InOp, class WeiOp, class OutOp,
          class ComputeTypeA, class ComputeTypeB>
struct DeviceOperationInstanceFactory<
    DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout, InDataType, WeiDataType,
                                        OutDataType, DsDataType, InOp, WeiOp, OutOp, ComputeTypeA, ComputeTypeB>> {
    using DeviceOp = DeviceGroupedConvBwdWeightMultipleD<NDimSpatial, InLayout, WeiLayout, OutLayout, DsLayout,
                                                         InDataType, WeiDataType, OutDataType, DsDataType, InOp, WeiOp,
                                                         OutOp, ComputeTypeA, ComputeTypeB>;
    static auto GetInstances() { return wrapped_instances<DeviceOp, kHasOperandOps<InOp, WeiOp, OutOp>>(); }
};

}  // namespace ckgen::tensor_operation::device::instance
