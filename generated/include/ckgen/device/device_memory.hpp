// Copied by ckgen from templates/include/ckgen/device/device_memory.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/device_memory.hpp"
