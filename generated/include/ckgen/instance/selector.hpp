// Copied by ckgen from templates/include/ckgen/instance/selector.hpp. Do not edit; run: ckgen generate
// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/library/selector.hpp"
