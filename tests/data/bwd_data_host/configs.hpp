// Instances of backward data by hand, small enough for a host to run thousands of problems.
#pragma once

#include "ckgen/op/impl/bwd_data_mfma.hpp"

namespace ckgen::instances {

// Tile: m, n, k; atom size; waves that load and that multiply; LDS stages; vectors of A, B and C.
template <int M, int N, int K, int Xdl, int Load, int Math, int Stages, int A, int B, int C>
struct Numbers {
    static constexpr int m_per_block = M, n_per_block = N;
    static constexpr int k_per_block = K, m_per_xdl = Xdl;
    static constexpr int load_waves = Load, math_waves = Math, stages = Stages;
    static constexpr int a_vector = A, b_vector = B, c_vector = C;
    static constexpr bool generic = A == 1;
};

template <class LayoutOf, class DataTypeOf, class FunctionOf, class Layouts, class Types, ConvSpec Spec, class N>
struct Fields : N {
    using Layout = LayoutOf;
    using DataType = DataTypeOf;
    using Function = FunctionOf;
    using DsLayout = Layouts;
    using DsDataType = Types;
    static constexpr ConvSpec conv_spec = Spec;
};

}  // namespace ckgen::instances

// `Family` is what the including source calls so.
#define CKGEN_TEST_INSTANCE(NAME, ...)                                                                                 \
    struct NAME : Fields<__VA_ARGS__> {                                                                                \
        static constexpr const char* name = #NAME;                                                                     \
    };                                                                                                                 \
    CKGEN_DEFINE_INSTANCE_AND_REDUCTION(NAME, Family)                                                                  \
    std::unique_ptr<tensor_operation::device::BaseOperator> base_##NAME() { return make_##NAME(); }
