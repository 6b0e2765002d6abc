// Families wmma and dl of grouped convolution backward data: the kernel of family xdl with another atom.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/epilogue/bwd_data_reduce.hpp"
#include "ckgen/op/impl/bwd_data.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_data_parts.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::instances {

struct BwdDataWmma : MfmaFamily<BwdDataFamily> {
    static constexpr const char* type_suffix = "_Wmma_CShuffle";
    template <class Config>
    using Checked = CheckedBwdDataWmma<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdDataParts>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;
#if !CKGEN_DEVICE_PASS
    template <class D, class>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(std::string("DeviceGroupedConvBwdDataMultipleD") + suffix,
                                                     {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block},
                                                     D::conv_spec, {D::ak1, D::a_vector, D::b_vector});
    }
#endif
};

struct BwdDataDl : MfmaFamily<BwdDataFamily> {
    static constexpr const char* type_suffix = "_Dl";
    template <class Config>
    using Checked = CheckedBwdDataDl<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdDataParts>;
    template <class D>
    using Reduction = epilogue::BwdDataReduceKernel<D>;
#if !CKGEN_DEVICE_PASS
    template <class D, class>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(
            std::string("DeviceGroupedConvBwdDataMultipleD") + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block / D::ak1}, D::conv_spec, {D::ak1});
    }
#endif
};

}  // namespace ckgen::instances
