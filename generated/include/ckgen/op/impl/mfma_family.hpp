// Copied by ckgen from templates/include/ckgen/op/impl/mfma_family.hpp. Do not edit; run: ckgen generate
// Host code that families xdl, wavelet and warp_split share: their kernels take the planned arguments unchanged.
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

}  // namespace ckgen::instances
