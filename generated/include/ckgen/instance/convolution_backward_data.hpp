// Copied by ckgen from templates/include/ckgen/instance/convolution_backward_data.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/convolution_backward_data.hpp"
