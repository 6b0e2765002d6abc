// Copied by ckgen from templates/include/ckgen/config/optional_keys.hpp. Do not edit; run: ckgen generate
// The members of a Config that an instance may leave out: 0 means that a rule gives the value, or that there is no
// choice.
#pragma once

namespace ckgen {

// Device code is compiled without the standard library.
template <int>
struct IfMember {
    using type = void;
};

template <class Config, class = void>
struct WithLdsWrite : Config {
    static constexpr int a_write = 0, b_write = 0;
};
template <class Config>
struct WithLdsWrite<Config, typename IfMember<Config::a_write>::type> : Config {};

template <class Config, class = void>
struct WithCopyK1 : Config {
    static constexpr int a_k1 = 0, b_k1 = 0;
};
template <class Config>
struct WithCopyK1<Config, typename IfMember<Config::a_k1>::type> : Config {};

template <class Config, class = void>
struct WithPipeline : Config {
    static constexpr int pipeline_version = 0;
    static constexpr bool interwave = false;
};
template <class Config>
struct WithPipeline<Config, typename IfMember<Config::pipeline_version>::type> : Config {};

template <class Config, class = void>
struct WithGroupsToMerge : Config {
    static constexpr int groups_to_merge = 1;
};
template <class Config>
struct WithGroupsToMerge<Config, typename IfMember<Config::groups_to_merge>::type> : Config {};

// Groups that are computed as one. Only some families have the key.
template <class D, class = void>
inline constexpr int kGroupsToMerge = 1;
template <class D>
inline constexpr int kGroupsToMerge<D, typename IfMember<D::groups_to_merge>::type> = D::groups_to_merge;
template <class D>
inline constexpr bool kMergesGroups = kGroupsToMerge<D> > 1;

template <class Config, class = void>
struct WithExchange : Config {
    static constexpr bool exchange = false;
};
template <class Config>
struct WithExchange<Config, typename IfMember<Config::exchange>::type> : Config {};

// True if the input is A and the output B. Only some families have the key.
template <class D, class = void>
inline constexpr bool kExchanges = false;
template <class D>
inline constexpr bool kExchanges<D, typename IfMember<D::exchange>::type> = D::exchange;

template <class Config, class = void>
struct WithCluster : Config {
    static constexpr int cluster = 1;
};
template <class Config>
struct WithCluster<Config, typename IfMember<Config::cluster>::type> : Config {};

// Workgroups that run together and share the copies of B. Only some families have the key.
template <class D, class = void>
inline constexpr int kCluster = 1;
template <class D>
inline constexpr int kCluster<D, typename IfMember<D::cluster>::type> = D::cluster;

// True if columns of the product are the taps of a filter row, which the epilogue adds: family col2im.
template <class D, class = void>
inline constexpr bool kSumsColumns = false;
template <class D>
inline constexpr bool kSumsColumns<D, typename IfMember<D::sums_pitch>::type> = true;

// Widths of CK's copy to channels-last tensors, which only its type strings have.
template <class Config, class = void>
struct WithTranspose : Config {
    static constexpr int transpose_dst = 0, transpose_vector = 0, transpose_lds = 0;
};
template <class Config>
struct WithTranspose<Config, typename IfMember<Config::transpose_dst>::type> : Config {};

template <class Config>
using WithOptionalKeys = WithTranspose<WithExchange<WithGroupsToMerge<WithPipeline<WithCopyK1<WithLdsWrite<Config>>>>>>;

}  // namespace ckgen
