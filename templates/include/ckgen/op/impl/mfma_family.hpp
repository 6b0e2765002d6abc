// Host code of families whose kernels take no tensor maps: xdl and wavelet, and those that load operands to registers.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::instances {

template <class Base>
struct MfmaFamily : Base {
#if !CKGEN_DEVICE_PASS
    static constexpr bool tensor_maps = false;

    template <class D>
    static auto traits() {
        auto traits = Base::template traits<D>();
        traits.tiles_per_half = D::load_waves > 0 ? D::stages / 2 : 1;
        return traits;
    }

    template <class D>
    using TypeNumbers = D;

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

// Families streaming and warp_split.
template <class Base>
struct WarpMmaFamily : MfmaFamily<Base> {
#if !CKGEN_DEVICE_PASS
    // Those of CK's numbers that apply.
    template <class D>
    struct TypeNumbers {
        static constexpr int ak1 = D::a_vector, bk1 = D::b_vector;
        static constexpr int m_xdl_per_wave = 1, n_xdl_per_wave = 1;
        static constexpr int a_dst_vector = 1, b_dst_vector = 1;
    };
#endif
};

}  // namespace ckgen::instances
