// Copied by ckgen from templates/include/ckgen/device/device_grouped_conv_bwd_weight_multiple_d.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/device_grouped_conv_bwd_weight_multiple_d.hpp"
