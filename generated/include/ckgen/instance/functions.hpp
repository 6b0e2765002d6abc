// Copied by ckgen from templates/include/ckgen/instance/functions.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/op/functions.hpp"
