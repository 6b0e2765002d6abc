// Copied by ckgen from templates/include/ckgen/op/impl/warp_split_family.hpp. Do not edit; run: ckgen generate
// Host code that both operations of family warp_split share: its kernels take the planned arguments unchanged.
#pragma once

#include "ckgen/pipeline/warp_split.hpp"

namespace ckgen::instances {

template <class Base>
struct WarpSplitFamily : Base {
#if !CKGEN_DEVICE_PASS
    static constexpr bool tensor_maps = false;
    static constexpr const char* type_suffix = "_WarpSplit";

    template <class D>
    static auto traits() {
        auto traits = Base::template traits<D>();
        traits.splits_to_fill = false;
        return traits;
    }

    // Those of CK's numbers that apply.
    template <class D>
    struct TypeNumbers {
        static constexpr int ak1 = D::a_vector, bk1 = D::b_vector;
        static constexpr int m_xdl_per_wave = 1, n_xdl_per_wave = 1;
        static constexpr int a_dst_vector = 1, b_dst_vector = 1;
    };

    template <class Kernel, class Args, class Plan>
    static Args arguments(uint32, const Args& args, const Plan&) {
        return args;
    }
    template <class Kernel, class Args>
    static uint32 workgroups(uint32 blocks, const Args&) {
        return blocks;
    }
#endif
};

}  // namespace ckgen::instances
