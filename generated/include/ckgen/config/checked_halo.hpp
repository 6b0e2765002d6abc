// Copied by ckgen from templates/include/ckgen/config/checked_halo.hpp. Do not edit; run: ckgen generate
// A Config of family halo with its derived values, after its rules of ckgen/config/rules.hpp were asserted.
#pragma once

#include "ckgen/config/derived_halo.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/config/rules.hpp"

namespace ckgen {

template <class Config>
struct CheckedHalo : HaloDerived<Config> {
    static_assert(sizeof(HaloRules<HaloDerived<Config>>) > 0, "instantiates the rules");
    // The family is for sm_90a alone, so what that has is known: 227 KiB for one block, and bulk tensor copies.
    static_assert(sizeof(HaloArchRules<HaloDerived<Config>, 227 * 1024, true>) > 0, "instantiates the rules");
};

}  // namespace ckgen
