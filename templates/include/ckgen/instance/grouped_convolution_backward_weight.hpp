// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/grouped_convolution_backward_weight.hpp"
