// Macros of generated factory sources: declare the function that makes an instance, add an instance to a list.
#pragma once

#include <memory>
#include <vector>

namespace ckgen::tensor_operation::device::instance {

// Specialised per operation in generated headers; GetInstances() returns every instance of the library for DeviceOp.
template <class DeviceOp, class Tag = void>
struct DeviceOperationInstanceFactory;

}  // namespace ckgen::tensor_operation::device::instance

// Use at global scope. The type of the operator follows the name: Operator<layout::NHWGC_GKYXC_NHWGK, dtype::f16>.
#define CKGEN_DECLARE_INSTANCE(NAME, ...)                                                                              \
    namespace ckgen::instances {                                                                                       \
    std::unique_ptr<::ckgen::tensor_operation::device::__VA_ARGS__> make_##NAME();                                     \
    }
// Use in a function with a variable `instances`.
#define CKGEN_ADD_INSTANCE(NAME) instances.push_back(::ckgen::instances::make_##NAME());
