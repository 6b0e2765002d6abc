// What the families of backward data that fill shared memory by bulk tensor copies share on the host side.
#pragma once

#include "ckgen/op/impl/grouped_conv_bwd_data.hpp"

#if !CKGEN_DEVICE_PASS

#include "ckgen/op/impl/tensor_maps.hpp"

namespace ckgen::tensor_operation::device {

struct CopyEngineDataFamily : TensorMaps {
    static constexpr bool second_kernel = false;

    template <class D>
    static conv::BwdDataTraits traits() {
        conv::BwdDataTraits traits = common_data_traits<D>();
        traits.copy_engine = true;
        return traits;
    }

    // CK's numbers as far as they mean something here: an atom is not split among waves.
    template <class D>
    static BwdDataTypeFields type_fields(const char* class_name) {
        return {
            class_name, D::block_size, D::m_per_block, D::n_per_block, D::k_per_block, 8, D::conv_spec, D::m_per_xdl, 1,
            1,          D::a_vector,   D::b_vector};
    }
};

}  // namespace ckgen::tensor_operation::device

#endif
