// Copied by ckgen from templates/include/ckgen/device/tensor_layout.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/config/tensor_layout.hpp"
