// Copied by ckgen from templates/include/ckgen/instance/grouped_convolution_backward_weight.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/grouped_convolution_backward_weight.hpp"
