// The base header of programs for CK: index types, data types, standard headers and the HIP runtime, which such
// programs use without including them. The tree's namespace is ck, so that a program may add to it.
#pragma once

#include <hip/hip_runtime.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ckgen/platform/runtime.hpp"
#include "ckgen/tuple.hpp"
#include "ckgen/types.hpp"

// These include this header.
#include "ck/utility/common_header.hpp"
