// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/reference_conv_bwd_data.hpp"
