// Copied by ckgen from templates/include/ckgen/atom/select.hpp. Do not edit; run: ckgen generate
// The atom for the architecture being compiled for.
#pragma once

#include "ckgen/atom/dot.hpp"
#include "ckgen/atom/fma.hpp"
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
#include "ckgen/atom/mma_sync.hpp"
#else
#include "ckgen/atom/mfma.hpp"
#include "ckgen/atom/wmma.hpp"
#endif

namespace ckgen::atom {

// Types that no instruction of the architecture multiplies at full precision take the portable atom: f32 on NVIDIA's
// consumer GPUs, all types on AMD architectures without MFMA. The host executes MFMA's lane map unless
// CKGEN_HOST_PORTABLE_ATOM selects the portable atom.
template <bool Portable, int Size>
struct SelectAtom {
    using type = FmaAtom<Size>;
};
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
template <int Size>
struct SelectAtom<false, Size> {
    using type = MmaSyncAtom<Size>;
};
template <class TA, class TB>
inline constexpr bool portable = !kMatrixOperands<TA, TB>;
#else
#if !defined(CKGEN_HAS_MFMA) || CKGEN_HAS_MFMA
template <int Size>
struct SelectAtom<false, Size> {
    using type = MfmaAtom<Size>;
};
#endif
#if (defined(CKGEN_HOST_PORTABLE_ATOM) && CKGEN_HOST_PORTABLE_ATOM) || (defined(CKGEN_HAS_MFMA) && !CKGEN_HAS_MFMA)
template <class TA, class TB>
inline constexpr bool portable = true;
#else
template <class TA, class TB>
inline constexpr bool portable = !kMatrixOperands<TA, TB>;
#endif
#endif

// The unit that multiplies for an instance: MFMA or what replaces it on other architectures, WMMA, or dot products. The
// values are those of `matrix_unit` in ckgen/families.
enum MatrixUnit { kMfmaUnit, kWmmaUnit, kDotUnit };

// False if code is compiled for an architecture that lacks a unit.
#if CKGEN_DEVICE_PASS && defined(CKGEN_HAS_MFMA)
template <int Unit>
inline constexpr bool kMatrixUnit = Unit == kDotUnit || (Unit == kWmmaUnit ? CKGEN_AMD_WMMA > 0 : CKGEN_HAS_MFMA);
#else
template <int Unit>
inline constexpr bool kMatrixUnit = true;
#endif

template <int Unit, class TA, class TB, int Size>
struct SelectUnit : SelectAtom<portable<TA, TB>, Size> {};
template <class TA, class TB, int Size>
struct SelectUnit<kDotUnit, TA, TB, Size> {
    using type = DotAtom<Size>;
};
#if !defined(CKGEN_PLATFORM_NVIDIA) || !CKGEN_PLATFORM_NVIDIA
template <class TA, class TB, int Size>
struct SelectUnit<kWmmaUnit, TA, TB, Size> {
    using type = WmmaAtom<Size>;
};
#endif

// D: a checked Config with its derived values.
template <class D>
using AtomOf = typename SelectUnit<D::matrix_unit, typename D::ComputeA, typename D::ComputeB, D::m_per_xdl>::type;
template <class D>
using AccumulatorOf = Accumulator<D::m_per_xdl, typename D::ComputeA, typename D::ComputeB, D::wave_size>;

}  // namespace ckgen::atom
