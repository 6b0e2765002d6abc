// Copied by ckgen from templates/include/ckgen/config/derived_bwd_data.hpp. Do not edit; run: ckgen generate
// Derived values of backward data in addition to the common ones: function, D tensors and kernel arguments.
#pragma once

#include "ckgen/config/called_function.hpp"
#include "ckgen/config/layout.hpp"
#include "ckgen/config/optional_keys.hpp"
#include "ckgen/tuple.hpp"

namespace ckgen {

// Defined in conv/bwd_data_args.hpp. Headers of config/ do not include conv/.
template <class Function, int DTensors>
struct BwdDataKernelArgs;

// Base: a Config with its derived values.
template <class Base>
struct WithFunction : Base {
    // With filter 1, stride 1 and pad 0 the positions of all images form one row.
    static constexpr bool pointwise = Base::conv_spec == ConvSpec::Filter1x1Stride1Pad0;
    static constexpr int kernel_ndim = pointwise ? 1 : Base::Layout::ndim;
    // A row of the image counts as a multiple of this many positions: of a vector, if taps shift vectors.
    static constexpr int row_vector = pointwise || Base::a_channels_last ? 1 : Base::a_vector;
    // The weight is copied to channels last before the kernel, if its channels are not side by side.
    static constexpr bool copies_weight = Base::b_vector > 1 && !Base::b_channels_last && !pointwise;
    // A tile of GEMM-K has one tap, even if its channels are few: then all vectors of positions that a thread copies
    // have the same place in their rows, and what depends on the tap is uniform. Instances with single elements of the
    // weight, and those that merge groups, are for few channels and put several taps into a tile.
    static constexpr bool one_tap_tiles = pointwise || (row_vector > 1 && Base::b_vector > 1 && !kMergesGroups<Base>);
    static constexpr int d_tensors = Base::DsDataType::Size();
    static_assert(Base::DsLayout::Size() == d_tensors, "a layout and a type for each D tensor");
    using Called = CalledFunction<typename Base::Function, typename Base::DataType::In, typename Base::DsDataType>;
    using KernelArgs = BwdDataKernelArgs<Called, d_tensors>;
};

}  // namespace ckgen
