// Every instance of a library by identity. The table itself is generated (src/library/registry.cpp).
#pragma once

#include <memory>
#include <vector>

#include "ckgen/library/factory.hpp"
#include "ckgen/op/device_base.hpp"

namespace ckgen {

struct RegistryEntry {
    const char* name;
    std::unique_ptr<tensor_operation::device::BaseOperator> (*make)();
};

// In the order of names.
const std::vector<RegistryEntry>& registry();

}  // namespace ckgen

// Use after CKGEN_DECLARE_INSTANCE in namespace ckgen.
#define CKGEN_REGISTRY_ENTRY(NAME)                                                                                     \
    ::ckgen::RegistryEntry {                                                                                           \
        #NAME, []() -> std::unique_ptr<::ckgen::tensor_operation::device::BaseOperator> {                              \
            return ::ckgen::instances::make_##NAME();                                                                  \
        }                                                                                                              \
    }
