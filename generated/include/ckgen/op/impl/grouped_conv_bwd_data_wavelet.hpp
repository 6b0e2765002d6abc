// Copied by ckgen from templates/include/ckgen/op/impl/grouped_conv_bwd_data_wavelet.hpp. Do not edit; run: ckgen generate
// Family wavelet of grouped convolution backward data: what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_HPP

#include "ckgen/op/impl/grouped_conv_bwd_data.hpp"
#include "ckgen/pipeline/wavelet.hpp"

namespace ckgen::conv {
template <class D>
using BwdDataWaveletKernel = pipeline::WaveletKernel<D, BwdDataParts>;
}

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME) CKGEN_DEFINE_DATA_INSTANCE(NAME, ::ckgen::conv::BwdDataWaveletKernel)
