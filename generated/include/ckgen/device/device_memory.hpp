// Copied by ckgen from templates/include/ckgen/device/device_memory.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/device_memory.hpp"
