// CK's name for a header whose contents are in data_type.hpp.
#pragma once

#include "ck/utility/data_type.hpp"
