// Copied by ckgen from templates/include/ckgen/config/checked_stationary.hpp. Do not edit; run: ckgen generate
// A Config of family stationary with its derived values, after its rules of ckgen/config/rules.hpp were asserted.
#pragma once

#include "ckgen/config/derived_bwd_data.hpp"
#include "ckgen/config/derived_tma.hpp"

namespace ckgen {

template <class Config>
using StationaryDerived = WithFunction<TmaDerived<Config, true, true>>;

template <class Config>
struct CheckedStationary : StationaryDerived<Config> {
    static_assert(sizeof(DataStationaryRules<StationaryDerived<Config>>) > 0, "instantiates the rules");
    // As in checked_tma.hpp: 227 KiB for one block, and wgmma.
    static_assert(sizeof(DataStationaryArchRules<StationaryDerived<Config>, 227 * 1024, true>) > 0,
                  "instantiates the rules");
};

}  // namespace ckgen
