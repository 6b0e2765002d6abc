// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/device_grouped_conv_bwd_weight_multiple_d.hpp"
