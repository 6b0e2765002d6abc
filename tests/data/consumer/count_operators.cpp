// Asks the C++ factory, as a client of CK would.
#include <iostream>

#include "ckgen/instance/grouped_convolution_backward_weight.hpp"

namespace device = ckgen::tensor_operation::device;

template <class Layout, class DataType>
void print(const char* what) {
    using Operator = device::BwdWeightOperator<Layout, DataType>;
    const auto operators = device::instance::DeviceOperationInstanceFactory<Operator>::GetInstances();
    std::cout << what << " " << operators.size();
    for(const auto& op : operators)
        std::cout << " " << op->GetTypeString();
    std::cout << "\n";
}

int main() {
    print<ckgen::layout::NHWGC_GKYXC_NHWGK, ckgen::dtype::f16>("2d f16");
    print<ckgen::layout::NDHWGC_GKZYXC_NDHWGK, ckgen::dtype::f32>("3d f32");
    print<ckgen::layout::NWGC_GKXC_NWGK, ckgen::dtype::bf16>("1d bf16");
}
