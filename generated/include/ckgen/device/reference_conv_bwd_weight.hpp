// Copied by ckgen from templates/include/ckgen/device/reference_conv_bwd_weight.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/reference_conv_bwd_weight.hpp"
