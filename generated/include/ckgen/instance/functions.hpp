// Copied by ckgen from templates/include/ckgen/instance/functions.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/functions.hpp"
