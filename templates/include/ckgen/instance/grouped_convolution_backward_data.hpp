// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/grouped_convolution_backward_data.hpp"
