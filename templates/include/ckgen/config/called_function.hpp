// The two ways in which kernels call a function: with f32 values, or with the types of the result and of D tensors.
#pragma once

#include "ckgen/tuple.hpp"
#include "ckgen/types.hpp"

namespace ckgen {

template <class T>
T declared();  // for decltype only
// f32 for each type of a pack. No alias: nvcc writes float in its place, and the pack is gone.
template <class>
struct F32 {
    using type = float;
};

template <class Function, class Values, class = void>
inline constexpr bool kTakes = false;
template <class Function, class... Values>
inline constexpr bool kTakes<Function, Tuple<Values...>,
                             decltype(static_cast<void>(declared<const Function&>()(declared<Values>()...)))> = true;

// Calls a function that takes the result's type and D's types. Neither conversion from and to f32 rounds.
template <class Function, class Result, class... Ds>
struct TypedFunction {
    Function function;
    CKGEN_HD void operator()(float& result, const float& sum, const typename F32<Ds>::type&... ds) const {
        Result rounded{};
        function(rounded, sum, Convert<Ds>::from(ds)...);
        result = to_float(rounded);
    }
};

// ByValues: the function takes f32 values.
template <bool ByValues, class Function, class Result, class... Ds>
struct CalledFunctionOf {
    using type = Function;
};
template <class Function, class Result, class... Ds>
struct CalledFunctionOf<false, Function, Result, Ds...> {
    static_assert(kTakes<Function, Tuple<Result&, const float&, const Ds&...>>,
                  "a function takes (float&, float, float...) or (E&, float, D...), with the types of the tensors");
    using type = TypedFunction<Function, Result, Ds...>;
};

// The function that a kernel calls with f32 values: for the result, the sum and each D tensor.
template <class Function, class Result, class Ds>
struct CalledFunctionBy;
template <class Function, class Result, class... Ds>
struct CalledFunctionBy<Function, Result, Tuple<Ds...>>
    : CalledFunctionOf<kTakes<Function, Tuple<float&, float&, typename F32<Ds>::type&...>>, Function, Result, Ds...> {};
template <class Function, class Result, class Ds>
using CalledFunction = typename CalledFunctionBy<Function, Result, Ds>::type;

}  // namespace ckgen
