// CK's include path; one header has the factories of all functions.
#pragma once

#include "ck/library/tensor_operation_instance/gpu/grouped_convolution_backward_weight.hpp"
