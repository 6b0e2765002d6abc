// Copied by ckgen from templates/include/ckgen/instance/selector.hpp. Do not edit; run: ckgen generate
// For users of ckgen: a lasting path to what lies elsewhere.
#pragma once

#include "ckgen/library/selector.hpp"
