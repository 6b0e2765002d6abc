// Copied by ckgen from templates/include/ckgen/config/optional_keys.hpp. Do not edit; run: ckgen generate
// The members of a Config that an instance may leave out: 0 means that a rule gives the value.
#pragma once

#include <type_traits>

namespace ckgen {

template <class Config, class = void>
struct WithLdsWrite : Config {
    static constexpr int a_write = 0, b_write = 0;
};
template <class Config>
struct WithLdsWrite<Config, std::void_t<decltype(Config::a_write)>> : Config {};

template <class Config, class = void>
struct WithCopyK1 : Config {
    static constexpr int a_k1 = 0, b_k1 = 0;
};
template <class Config>
struct WithCopyK1<Config, std::void_t<decltype(Config::a_k1)>> : Config {};

template <class Config>
using WithOptionalKeys = WithCopyK1<WithLdsWrite<Config>>;

}  // namespace ckgen
