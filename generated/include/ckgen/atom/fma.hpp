// Copied by ckgen from templates/include/ckgen/atom/fma.hpp. Do not edit; run: ckgen generate
// The portable atom: the same tile product with ordinary fused multiply-adds, for architectures without MFMA and as the
// second opinion on the host. It reads the same LDS layout, so that kernels need not know which atom they use.
#pragma once

#include "ckgen/atom/mfma.hpp"

namespace ckgen::atom {

template <int Size>
struct FmaAtom {
    using Map = FmaAccumulator<Size>;
    static constexpr bool is_mfma = false;
    static constexpr int rows = Map::rows;

    // One plane (K1 positions of GEMM-K): every lane multiplies its rows of A with its four columns of B.
    template <class T, class LayoutA, class LayoutB, int MR, int NR>
    static CKGEN_DEVICE void multiply(const platform::Thread& thread, int lane, int a_plane, int b_plane,
                                      Accumulator<Size> (&acc)[MR][NR]) {
        constexpr int k1 = 16 / static_cast<int>(sizeof(T));
        CKGEN_UNROLL
        for(int j = 0; j < NR; ++j) {
            Fragment<T> b[4];
            CKGEN_UNROLL
            for(int column = 0; column < 4; ++column)
                b[column] =
                    thread.lds_load<Fragment<T>>(b_plane + LayoutB::byte_of(0, j * Size + Map::column(lane, column)));
            CKGEN_UNROLL
            for(int i = 0; i < MR; ++i)
                CKGEN_UNROLL
            for(int row = 0; row < rows; ++row) {
                const auto a =
                    thread.lds_load<Fragment<T>>(a_plane + LayoutA::byte_of(0, i * Size + Map::row(lane, 4 * row)));
                CKGEN_UNROLL
                for(int column = 0; column < 4; ++column)
                    CKGEN_UNROLL
                for(int k = 0; k < k1; ++k)
                    acc[i][j][4 * row + column] += to_float(a[k]) * to_float(b[column][k]);
            }
        }
    }
};

template <int Size>
struct MfmaAtom {
    using Map = MfmaAccumulator<Size>;
    static constexpr bool is_mfma = true;
};

// The atom of the architecture being compiled for. The host executes MFMA's lane map unless CKGEN_HOST_PORTABLE_ATOM
// asks for the portable one.
template <bool HasMfma, int Size>
struct SelectAtom {
    using type = MfmaAtom<Size>;
};
template <int Size>
struct SelectAtom<false, Size> {
    using type = FmaAtom<Size>;
};
#if defined(CKGEN_HOST_PORTABLE_ATOM) && CKGEN_HOST_PORTABLE_ATOM
inline constexpr bool has_mfma = false;
#elif defined(CKGEN_HAS_MFMA) && !CKGEN_HAS_MFMA
inline constexpr bool has_mfma = false;
#else
inline constexpr bool has_mfma = true;
#endif
template <int Size>
using Select = typename SelectAtom<has_mfma, Size>::type;

#if defined(CKGEN_HAS_MFMA) && !CKGEN_HAS_MFMA
// Never called: `if constexpr` discards the branch, but its name must exist.
template <int Size, class T, int MR, int NR>
CKGEN_DEVICE void multiply(const platform::Thread&, const Fragment<T> (&)[MR], const Fragment<T> (&)[NR],
                           Accumulator<Size> (&)[MR][NR]) {}
#endif

}  // namespace ckgen::atom
