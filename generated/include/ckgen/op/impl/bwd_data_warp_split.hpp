// Copied by ckgen from templates/include/ckgen/op/impl/bwd_data_warp_split.hpp. Do not edit; run: ckgen generate
// Family warp_split of grouped convolution backward data.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/epilogue/bwd_data_reduce.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/warp_split.hpp"

namespace ckgen::instances {

struct BwdDataWarpSplit : WarpMmaFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataWarpSplit<Config>;
    template <class D>
    using Kernel = pipeline::WarpSplitKernel<D, pipeline::WarpSplitBwdData<D>>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;

#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_WarpSplit";

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = WarpMmaFamily::traits<D>();
        traits.splits_to_fill = false;
        return traits;
    }
#endif
};

}  // namespace ckgen::instances
