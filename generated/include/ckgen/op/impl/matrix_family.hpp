// Copied by ckgen from templates/include/ckgen/op/impl/matrix_family.hpp. Do not edit; run: ckgen generate
// What the families xdl and wavelet share on the host side: their kernels take the planned arguments as they are.
#pragma once

#include "ckgen/config/checked.hpp"
#include "ckgen/op/impl/grouped_conv_bwd_weight.hpp"

#if !CKGEN_DEVICE_PASS

namespace ckgen::tensor_operation::device {

struct MatrixFamily : NoTensorMaps {
    template <class D>
    static constexpr conv::BwdWeightTraits traits() {
        conv::BwdWeightTraits traits = conv::common_traits<D>();
        traits.tiles_per_half = D::load_waves > 0 ? D::stages / 2 : 1;
        return traits;
    }

    template <class D>
    static BwdWeightTypeFields type_fields() {
        return {D::load_waves > 0 ? "DeviceGroupedConvBwdWeight_Xdl_WaveletModel_CShuffle"
                                  : "DeviceGroupedConvBwdWeight_Xdl_CShuffle",
                D::block_size,
                D::m_per_block,
                D::n_per_block,
                D::k_per_block / D::k1,
                D::conv_spec,
                D::k1,
                D::m_xdl_per_wave,
                D::n_xdl_per_wave,
                D::a_vector,
                D::a_dst_vector,
                D::b_vector,
                D::b_dst_vector,
                D::c_vector};
    }

    template <class Kernel>
    static const conv::BwdWeightArgs& arguments(uint32, const conv::BwdWeightArgs& args) {
        return args;
    }
    template <class Kernel>
    static uint32 workgroups(uint32 blocks, const conv::BwdWeightArgs&) {
        return blocks;
    }
};

}  // namespace ckgen::tensor_operation::device

#endif
