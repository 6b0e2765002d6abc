// Copied by ckgen from templates/include/ckgen/op/impl/grouped_conv_bwd_data_wavelet_tma.hpp. Do not edit; run: ckgen generate
// Family wavelet_tma of grouped convolution backward data (sm_90a): what a generated instance includes.
#ifndef CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_TMA_HPP
#define CKGEN_DEVICE_IMPL_GROUPED_CONV_BWD_DATA_WAVELET_TMA_HPP

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_data_tma_family.hpp"

#endif

// Each time anew: one translation unit may hold instances of several families in turn.
#undef CKGEN_DEFINE_INSTANCE
#define CKGEN_DEFINE_INSTANCE(NAME)                                                                                    \
    CKGEN_DEFINE_DATA_INSTANCE_WITH(NAME, ::ckgen::CheckedDataTma, ::ckgen::tensor_operation::device::TmaDataFamily,   \
                                    ::ckgen::pipeline::WaveletTmaBwdDataKernel)
