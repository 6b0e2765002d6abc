// Copied by ckgen from templates/include/ckgen/op/impl/bwd_weight_mfma.hpp. Do not edit; run: ckgen generate
// Families xdl and wavelet of grouped convolution backward weight.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/epilogue/bwd_weight_reduce.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_weight_parts.hpp"
#include "ckgen/pipeline/wavelet.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::instances {

struct BwdWeightXdl : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Xdl_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeight<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdWeightParts>;
    template <class D>
    using Reduction = epilogue::BwdWeightReduceKernel<D>;
};

struct BwdWeightWavelet : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Xdl_WaveletModel_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeight<Config>;
    template <class D>
    using Kernel = pipeline::WaveletKernel<D, conv::BwdWeightParts>;
    template <class D>
    using Reduction = epilogue::BwdWeightReduceKernel<D>;
};

}  // namespace ckgen::instances
