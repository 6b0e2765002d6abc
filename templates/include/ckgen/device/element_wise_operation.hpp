// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/element_wise_operation.hpp"
