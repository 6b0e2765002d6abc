// CK's include path; the definitions are in ckgen's header.
#pragma once

#include "ck/ck.hpp"
#include "ckgen/device/element_wise_operation.hpp"
