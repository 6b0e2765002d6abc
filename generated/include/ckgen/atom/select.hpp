// Copied by ckgen from templates/include/ckgen/atom/select.hpp. Do not edit; run: ckgen generate
// The atom for the architecture being compiled for.
#pragma once

#include "ckgen/atom/fma.hpp"
#if defined(CKGEN_PLATFORM_NVIDIA) && CKGEN_PLATFORM_NVIDIA
#include "ckgen/atom/mma_sync.hpp"
#else
#include "ckgen/atom/mfma.hpp"
#endif

namespace ckgen::atom {

// Types that no instruction of the architecture multiplies at full precision take the portable atom: f32 on NVIDIA, all
// types on AMD architectures without MFMA. The host executes MFMA's lane map unless CKGEN_HOST_PORTABLE_ATOM selects
// the portable atom.
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

// False if code is compiled for an architecture whose matrix unit no atom uses.
#if CKGEN_DEVICE_PASS && defined(CKGEN_HAS_MFMA)
inline constexpr bool kMatrixUnit = CKGEN_HAS_MFMA;
#else
inline constexpr bool kMatrixUnit = true;
#endif

template <class TA, class TB, int Size>
using Select = typename SelectAtom<portable<TA, TB>, Size>::type;

}  // namespace ckgen::atom
