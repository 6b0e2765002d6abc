// CK's include path; the definitions are in ckgen's header.
#pragma once

#include "ck/ck.hpp"
#include "ckgen/device/device_grouped_conv_bwd_weight_multiple_d.hpp"
