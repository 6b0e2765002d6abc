// Copied by ckgen from templates/include/ckgen/config/checked.hpp. Do not edit; run: ckgen generate
// A Config with its derived values, after every rule of ckgen/config/rules.hpp has been asserted.
#pragma once

#include "ckgen/config/derived.hpp"
#include "ckgen/config/rules.hpp"

namespace ckgen {

template <class Config>
struct Checked : Derived<Config> {
    static_assert(sizeof(Rules<Derived<Config>>) > 0, "instantiates the rules");
};

}  // namespace ckgen
