// Copied by ckgen from templates/include/ckgen/instance/grouped_convolution_backward_weight.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/grouped_convolution_backward_weight.hpp"
