// Copied by ckgen from templates/include/ckgen/op/impl/grouped_conv_bwd_weight_xdl.hpp. Do not edit; run: ckgen generate
// Family xdl of grouped convolution backward weight: what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_WEIGHT_XDL_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_WEIGHT_XDL_HPP

#include "ckgen/config/layout.hpp"
#include "ckgen/op/impl/matrix_family.hpp"
#include "ckgen/pipeline/bwd_weight_parts.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::conv {
template <class D>
using BwdWeightXdlKernel = pipeline::XdlKernel<D, BwdWeightParts>;
}

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME)                                                                                    \
    CKGEN_DEFINE_INSTANCE_WITH(NAME, ::ckgen::Checked, ::ckgen::tensor_operation::device::MatrixFamily,                \
                               ::ckgen::conv::BwdWeightXdlKernel)
