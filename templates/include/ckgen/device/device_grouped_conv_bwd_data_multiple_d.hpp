// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/device_grouped_conv_bwd_data_multiple_d.hpp"
