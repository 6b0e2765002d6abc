// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/config/tensor_layout.hpp"
