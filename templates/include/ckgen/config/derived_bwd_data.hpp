// What backward data adds to the derived values of an instance: its function, its D tensors, its kernel's arguments.
#pragma once

#include "ckgen/config/layout.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen {

// Defined in conv/bwd_data_args.hpp, which this room may not include.
template <class Function, int DTensors>
struct BwdDataKernelArgs;

// Base: a Config with its derived values.
template <class Base>
struct WithFunction : Base {
    // Without a filter, strides and pads the positions of all images are one row of them.
    static constexpr bool pointwise = Base::conv_spec == ConvSpec::Filter1x1Stride1Pad0;
    static constexpr int kernel_ndim = pointwise ? 1 : Base::Layout::ndim;
    static constexpr int d_tensors = Base::DsDataType::Size();
    static_assert(Base::DsLayout::Size() == d_tensors, "a layout and a type for each D tensor");
    using KernelArgs = BwdDataKernelArgs<typename Base::Function, d_tensors>;
};

}  // namespace ckgen
