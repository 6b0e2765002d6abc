// Copied by ckgen from templates/include/ckgen/device/reference_conv_bwd_data.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/reference_conv_bwd_data.hpp"
