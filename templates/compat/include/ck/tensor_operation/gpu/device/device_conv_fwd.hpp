// Programs for backward convolutions include this path and use nothing of it.
#pragma once

#include "ck/ck.hpp"
