// What the families that fill shared memory by bulk tensor copies (wavelet_tma, halo) share on the host side.
#pragma once

#include "ckgen/op/impl/grouped_conv_bwd_weight.hpp"

#if !CKGEN_DEVICE_PASS

#include "ckgen/op/impl/tensor_maps.hpp"

namespace ckgen::tensor_operation::device {

template <class D>
constexpr conv::BwdWeightTraits copy_engine_traits() {
    conv::BwdWeightTraits traits = conv::common_traits<D>();
    traits.copy_engine = true;
    return traits;
}

// CK's numbers as far as they mean something here: K0 counts 8 positions, an atom is not split among waves.
template <class D>
BwdWeightTypeFields copy_engine_type_fields(const char* class_name) {
    return {class_name, D::block_size, D::m_per_block, D::n_per_block, D::k_per_block / 8, D::conv_spec, 8, 1,
            1,          D::a_vector,   D::a_vector,    D::b_vector,    D::b_vector,        D::c_vector};
}

}  // namespace ckgen::tensor_operation::device

#endif
