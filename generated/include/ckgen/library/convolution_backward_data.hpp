// Copied by ckgen from templates/include/ckgen/library/convolution_backward_data.hpp. Do not edit; run: ckgen generate
// The dense backward-data operators of this library: DeviceOperationInstanceFactory<Op>::GetInstances() wraps the
// instances of the grouped operation for one group.
#pragma once

#include "ckgen/config/operations.hpp"
#include "ckgen/library/grouped_convolution_backward_data.hpp"
#include "ckgen/op/device_conv_bwd_data.hpp"

namespace ckgen::tensor_operation::device::instance {

template <index_t NDimSpatial>
struct GroupedLayoutOfDense;
template <>
struct GroupedLayoutOfDense<1> {
    using type = layout::NWGC_GKXC_NWGK;
};
template <>
struct GroupedLayoutOfDense<2> {
    using type = layout::NHWGC_GKYXC_NHWGK;
};
template <>
struct GroupedLayoutOfDense<3> {
    using type = layout::NDHWGC_GKZYXC_NDHWGK;
};

// For layouts and types that the library does not have, the list is empty.
template <ckgen::index_t NDimSpatial, class InLayout, class WeiLayout, class OutLayout, class InDataType,
          class WeiDataType, class OutDataType>
struct DeviceOperationInstanceFactory<
    DeviceConvBwdData<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType, OutDataType,
                      element_wise::PassThrough, element_wise::PassThrough, element_wise::PassThrough>> {
    using DeviceOp =
        DeviceConvBwdData<NDimSpatial, InLayout, WeiLayout, OutLayout, InDataType, WeiDataType, OutDataType,
                          element_wise::PassThrough, element_wise::PassThrough, element_wise::PassThrough>;

    static auto GetInstances() {
        std::vector<std::unique_ptr<DeviceOp>> instances;
#define CKGEN_ADD_DENSE(DTYPE) add<dtype::DTYPE>(instances);
        CKGEN_DATA_TYPES_OF_BwdData(CKGEN_ADD_DENSE)
#undef CKGEN_ADD_DENSE
            return instances;
    }

private:
    template <class DataType>
    static void add(std::vector<std::unique_ptr<DeviceOp>>& instances) {
        constexpr bool as_stored = std::is_same_v<typename DataType::ComputeA, typename DataType::Out>;
        if constexpr(as_stored && std::is_same_v<DeviceOp, DenseBwdDataOperator<NDimSpatial, DataType>>) {
            using Dense = ConvBwdDataOfGrouped<typename GroupedLayoutOfDense<NDimSpatial>::type, DataType>;
            for(auto& grouped : DeviceOperationInstanceFactory<typename Dense::Grouped>::GetInstances())
                instances.push_back(std::make_unique<Dense>(std::move(grouped)));
        }
    }
};

}  // namespace ckgen::tensor_operation::device::instance
