// Public include path; the definitions are in the header below.
#pragma once

#include "ckgen/op/device_base.hpp"
