// Copied by ckgen from templates/include/ckgen/device/tensor_layout.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/config/tensor_layout.hpp"
