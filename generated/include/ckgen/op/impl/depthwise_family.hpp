// Copied by ckgen from templates/include/ckgen/op/impl/depthwise_family.hpp. Do not edit; run: ckgen generate
// Host code of family depthwise that does not depend on the operation.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::instances {

template <class Base>
struct DepthwiseFamily : Base {
#if !CKGEN_DEVICE_PASS
    static constexpr bool tensor_maps = false;
    static constexpr const char* type_suffix = "_Depthwise";

    // Vectors run across the groups, so that the checks of channels are those of single elements.
    template <class D>
    static auto traits() {
        auto traits = Base::template traits<D>();
        traits.a_vector = traits.b_vector = traits.c_vector = 1;
        traits.depthwise = {D::a_vector, D::n_per_block,      D::m_per_block,
                            D::stages,   D::thread_positions, D::position_threads};
        traits.plan_family = &conv::plan_depthwise;
        return traits;
    }

    // Those of CK's numbers that apply.
    template <class D>
    struct TypeNumbers {
        static constexpr int ak1 = 1, bk1 = 1;
        static constexpr int m_xdl_per_wave = 1, n_xdl_per_wave = 1;
        static constexpr int a_dst_vector = 1, b_dst_vector = 1;
    };

    template <class Kernel, class Args>
    static uint32 workgroups(uint32 blocks, const Args&) {
        return blocks;
    }
#endif
};

}  // namespace ckgen::instances
