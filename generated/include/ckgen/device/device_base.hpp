// Copied by ckgen from templates/include/ckgen/device/device_base.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/device_base.hpp"
