// Copied by ckgen from templates/include/ckgen/instance/convolution_backward_data.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/convolution_backward_data.hpp"
