// Build options; a program need not define any.
#pragma once

#include "ckgen/config.h"
