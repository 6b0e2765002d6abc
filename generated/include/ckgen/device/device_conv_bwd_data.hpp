// Copied by ckgen from templates/include/ckgen/device/device_conv_bwd_data.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/device_conv_bwd_data.hpp"
