// Family warp_split of grouped convolution backward data.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/epilogue/bwd_data_reduce.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/warp_split_family.hpp"

namespace ckgen::instances {

struct BwdDataWarpSplit : WarpSplitFamily<BwdDataFamily> {
    template <class Config>
    using Checked = CheckedBwdDataWarpSplit<Config>;
    template <class D>
    using Kernel = pipeline::WarpSplitKernel<D, pipeline::WarpSplitBwdData<D>>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;
};

}  // namespace ckgen::instances
