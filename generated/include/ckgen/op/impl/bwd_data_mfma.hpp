// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_mfma.hpp. Do not edit; run: ckgen generate
// Families xdl and wavelet of grouped convolution backward data. A second kernel adds their partials.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/epilogue/bwd_data_reduce.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_data_parts.hpp"
#include "ckgen/pipeline/wavelet.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::instances {

struct BwdDataXdl : MfmaFamily<BwdDataFamily> {
    static constexpr const char* type_suffix = "_Xdl_CShuffle_v1";
    template <class Config>
    using Checked = CheckedBwdData<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdDataParts>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;
};

struct BwdDataWavelet : MfmaFamily<BwdDataFamily> {
    static constexpr const char* type_suffix = "_Xdl_WaveletModel_CShuffle";
    template <class Config>
    using Checked = CheckedBwdData<Config>;
    template <class D>
    using Kernel = pipeline::WaveletKernel<D, conv::BwdDataParts>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;
};

}  // namespace ckgen::instances
