// Copied by ckgen from templates/include/ckgen/config/derived_bwd_weight.hpp. Do not edit; run: ckgen generate
// Derived values of backward weight in addition to the common ones: kernel arguments, and D tensors if there are any.
#pragma once

#include "ckgen/config/called_function.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen {

// Both are defined in conv/bwd_weight_args.hpp. Headers of config/ do not include conv/.
namespace conv {
struct BwdWeightArgs;
}
template <class Function, int DTensors>
struct BwdWeightKernelArgs;

// Device code is compiled without the standard library.
template <class>
struct IfType {
    using type = void;
};

// Base: a Config, with or without its derived values. An instance of PassThrough names no function.
template <class Base, class = void>
struct WithWeightFunction : Base {
    static constexpr bool fused = false;
    using KernelArgs = conv::BwdWeightArgs;
};
template <class Base>
struct WithWeightFunction<Base, typename IfType<typename Base::Function>::type> : Base {
    static constexpr bool fused = true;
    static constexpr int d_tensors = Base::DsDataType::Size();
    static_assert(Base::DsLayout::Size() == d_tensors, "a layout and a type for each D tensor");
    using Called = CalledFunction<typename Base::Function, typename Base::DataType::Wei, typename Base::DsDataType>;
    using KernelArgs = BwdWeightKernelArgs<Called, d_tensors>;
};

}  // namespace ckgen
