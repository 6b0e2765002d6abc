// A Config of family wavelet_tma of backward data with its derived values, after its rules of
// ckgen/config/rules.hpp were asserted.
#pragma once

#include "ckgen/config/derived_bwd_data.hpp"
#include "ckgen/config/derived_tma.hpp"

namespace ckgen {

template <class Config>
using TmaDataDerived = WithFunction<TmaDerived<Config, true>>;

template <class Config>
struct CheckedTmaData : TmaDataDerived<Config> {
    static_assert(sizeof(DataTmaRules<TmaDataDerived<Config>>) > 0, "instantiates the rules");
    // As in checked_tma.hpp: 227 KiB for one block, and wgmma.
    static_assert(sizeof(DataTmaArchRules<TmaDataDerived<Config>, 227 * 1024, true>) > 0, "instantiates the rules");
};

}  // namespace ckgen
