// Copied by ckgen from templates/include/ckgen/device/element_wise_operation.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/element_wise_operation.hpp"
