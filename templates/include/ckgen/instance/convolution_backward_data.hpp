// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/convolution_backward_data.hpp"
