// Families wmma and dl of grouped convolution backward weight: the kernel of family xdl with another atom.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/bwd_weight.hpp"
#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/bwd_weight_parts.hpp"
#include "ckgen/pipeline/xdl.hpp"

namespace ckgen::instances {

struct BwdWeightWmma : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Wmma_CShuffle";
    template <class Config>
    using Checked = CheckedBwdWeightWmma<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdWeightParts>;
#if !CKGEN_DEVICE_PASS
    template <class D, class>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(
            std::string("DeviceGroupedConvBwdWeight") + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block / D::ak1}, D::conv_spec,
            {D::ak1, D::a_vector, D::a_dst_vector, D::b_vector, D::b_dst_vector, 1, 1, D::c_vector});
    }
#endif
};

struct BwdWeightDl : MfmaFamily<BwdWeightFamily> {
    static constexpr const char* type_suffix = "_Dl";
    template <class Config>
    using Checked = CheckedBwdWeightDl<Config>;
    template <class D>
    using Kernel = pipeline::XdlKernel<D, conv::BwdWeightParts>;
#if !CKGEN_DEVICE_PASS
    template <class D, class>
    static std::string type_string(const char* suffix) {
        return tensor_operation::device::type_string(
            std::string("DeviceGroupedConvBwdWeight") + suffix,
            {D::block_size, D::m_per_block, D::n_per_block, D::k_per_block / D::ak1}, D::conv_spec, {D::ak1});
    }
#endif
};

}  // namespace ckgen::instances
