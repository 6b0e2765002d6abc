// Copied by ckgen from templates/include/ckgen/tuple.hpp. Do not edit; run: ckgen generate
// A list of types, with CK's name for it: one entry per D tensor.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen {

template <class... Types>
struct Tuple {
    static CKGEN_HD constexpr index_t Size() { return static_cast<index_t>(sizeof...(Types)); }
};

}  // namespace ckgen
