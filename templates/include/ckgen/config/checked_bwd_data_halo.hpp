// A Config of family halo of backward data with its derived values, after its rules of ckgen/config/rules.hpp were
// asserted.
#pragma once

#include "ckgen/config/derived_bwd_data.hpp"
#include "ckgen/config/derived_halo.hpp"

namespace ckgen {

template <class Config>
using HaloDataDerived = WithFunction<HaloDerived<Config, true>>;

template <class Config>
struct CheckedHaloData : HaloDataDerived<Config> {
    static_assert(sizeof(DataHaloRules<HaloDataDerived<Config>>) > 0, "instantiates the rules");
    // As in checked_halo.hpp: 227 KiB for one block, and bulk tensor copies.
    static_assert(sizeof(DataHaloArchRules<HaloDataDerived<Config>, 227 * 1024, true>) > 0, "instantiates the rules");
};

}  // namespace ckgen
