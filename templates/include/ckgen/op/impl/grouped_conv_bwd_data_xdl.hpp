// Family xdl of grouped convolution backward data: what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_XDL_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_XDL_HPP

#include "ckgen/op/impl/grouped_conv_bwd_data.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::conv {
template <class D>
using BwdDataXdlKernel = pipeline::XdlKernel<D, BwdDataParts>;
}

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME) CKGEN_DEFINE_DATA_INSTANCE(NAME, ::ckgen::conv::BwdDataXdlKernel)
