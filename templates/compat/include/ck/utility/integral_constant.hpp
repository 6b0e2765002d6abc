// CK's include path of Number.
#pragma once

#include "ck/utility/number.hpp"
