// CK's include path; the definitions are in ckgen's header.
#pragma once

#include "ck/library/tensor_operation_instance/device_operation_instance_factory.hpp"
#include "ckgen/instance/convolution_backward_data.hpp"
