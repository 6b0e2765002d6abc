// A Config of family wavelet_tma with its derived values, after its rules of ckgen/config/rules.hpp were asserted.
#pragma once

#include "ckgen/config/derived_tma.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/config/rules.hpp"

namespace ckgen {

template <class Config>
struct CheckedTma : TmaDerived<Config> {
    static_assert(sizeof(TmaRules<TmaDerived<Config>>) > 0, "instantiates the rules");
    // The family is for sm_90a alone, so what that has is known: 227 KiB for one block, and wgmma.
    static_assert(sizeof(TmaArchRules<TmaDerived<Config>, 227 * 1024, true>) > 0, "instantiates the rules");
};

}  // namespace ckgen
