// Host code that both operations of family warp_split share.
#pragma once

#include "ckgen/op/impl/mfma_family.hpp"
#include "ckgen/pipeline/warp_split.hpp"

namespace ckgen::instances {

template <class Base>
struct WarpSplitFamily : MfmaFamily<Base> {
#if !CKGEN_DEVICE_PASS
    static constexpr const char* type_suffix = "_WarpSplit";

    template <class D>
    static auto traits() {
        auto traits = MfmaFamily<Base>::template traits<D>();
        traits.splits_to_fill = D::a_k_major && D::b_k_major;  // weights of planes have many positions
        return traits;
    }

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
