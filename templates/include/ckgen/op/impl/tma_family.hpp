// Host code that families with TMA share. Tensor maps are encoded when a problem is planned, so a map that the driver
// refuses gives a reason instead of a launch that fails.
#pragma once

#include "ckgen/platform/platform.hpp"

#if !CKGEN_DEVICE_PASS
#include <string>

#include "ckgen/platform/tensor_map.hpp"
#endif

namespace ckgen::instances {

template <class Base>
struct TmaFamily : Base {
#if !CKGEN_DEVICE_PASS
    static constexpr bool tensor_maps = true;

    template <class D>
    static auto traits() {
        auto traits = Base::template traits<D>();
        traits.tma = true;
        return traits;
    }

    // Those of CK's numbers that apply to these families: K0 counts 8 rows; waves do not share an atom.
    template <class D>
    struct TypeNumbers {
        static constexpr int ak1 = 8, bk1 = 8;
        static constexpr int m_xdl_per_wave = 1, n_xdl_per_wave = 1;
        static constexpr int a_dst_vector = D::a_vector, b_dst_vector = D::b_vector;
    };

    // The driver's reason to refuse the tensor maps that encode() makes, or empty.
    template <class Encode>
    static std::string tensor_map_reason(const Encode& encode) {
        if(!platform::encodes_tensor_maps())
            return {};
        try {
            encode();
        } catch(const platform::TensorMapRefused& refused) {
            return std::string("[tensor-map] ") + refused.what();
        }
        return {};
    }
#endif
};

}  // namespace ckgen::instances
