// Copied by ckgen from templates/include/ckgen/op/impl/fused.hpp. Do not edit; run: ckgen generate
// Host code that instances with a function share, for every operation.
#pragma once

#include "ckgen/platform/platform.hpp"

#if !CKGEN_DEVICE_PASS

#include <array>
#include <cstring>
#include <type_traits>
#include <vector>

#include "ckgen/config/layout.hpp"
#include "ckgen/plan/plan.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen::tensor_operation::device {

// The scalars of a function are its members. Members of a program's own function may have other types than float; they
// are carried as whole words.
template <class Function>
inline constexpr int scalars_of =
    std::is_empty_v<Function> ? 0 : (sizeof(Function) + sizeof(float) - 1) / sizeof(float);

template <class Types, class Layouts>
struct DTraitsOf;
template <class... Types, class... Layouts>
struct DTraitsOf<Tuple<Types...>, Tuple<Layouts...>> {
    static std::vector<conv::DTensorTraits> list() {
        return {{Layouts::name, static_cast<int>(sizeof(Types)), layout::channels_last<Layouts>,
                 layout::one_a_channel<Layouts>}...};
    }
};

// The function and D tensors of an argument. tensor_of: the shape of lengths and strides.
template <class Function, class Pointers, class Shapes, class TensorOf>
conv::Fusion fusion_of(const Function& function, const Pointers& p_ds, const Shapes& lengths, const Shapes& strides,
                       const TensorOf& tensor_of) {
    static_assert(std::is_trivially_copyable_v<Function>, "a function's members are its scalars");
    conv::Fusion fusion;
    for(std::size_t i = 0; i < p_ds.size(); ++i)
        fusion.d.push_back({p_ds[i], tensor_of(lengths[i], strides[i])});
    fusion.scalars.resize(scalars_of<Function>);
    if(!fusion.scalars.empty())
        std::memcpy(fusion.scalars.data(), &function, sizeof(Function));
    return fusion;
}

// Sets the properties of the function of D, a Config, that planning reads.
template <class D>
void set_function_traits(conv::InstanceTraits& traits) {
    traits.d = DTraitsOf<typename D::DsDataType, typename D::DsLayout>::list();
    traits.scalars = scalars_of<typename D::Function>;
}

// The kernel's argument: the planned one with the function and its D tensors.
template <class D, class Launch>
typename D::KernelArgs fused_args(const Launch& launch) {
    typename D::KernelArgs args{};
    // Not decltype(launch.args): nvcc 13.0 then assigns to a copy.
    static_cast<typename Launch::Args&>(args) = launch.args;
    args.function = typename D::Called{typename D::Function{}};
    const std::vector<float>& scalars = launch.fusion.scalars;
    if(!scalars.empty())
        std::memcpy(static_cast<void*>(&args.function), scalars.data(), sizeof(args.function));
    for(std::size_t i = 0; i < launch.plan.d.size(); ++i)
        args.d[i] = launch.plan.d[i];
    return args;
}

}  // namespace ckgen::tensor_operation::device

#endif
