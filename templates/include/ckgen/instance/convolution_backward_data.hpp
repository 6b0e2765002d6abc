// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/convolution_backward_data.hpp"
