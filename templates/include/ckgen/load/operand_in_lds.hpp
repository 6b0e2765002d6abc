// Ways to bring an operand that is contiguous along columns in global memory to LDS, and its layout there.
#pragma once

#include "ckgen/block/direct_copy.hpp"
#include "ckgen/block/tile_copy.hpp"

namespace ckgen::conv {

// Slots: each slot has elements of one column; threads transpose in registers. Rows: row-major, where LDS reads can
// transpose 16-bit elements. Direct: row-major through direct-to-LDS loads, which need 16 bytes per lane for every
// operand.
enum class TileWay { Slots, Rows, Direct };

// The columns of a row are permuted in groups of 32 (LdsRows).
template <int Columns>
inline constexpr bool kMovableColumns = Columns % 32 == 0;

template <class D, int Columns, int Vector>
inline constexpr TileWay kTileWay =
    platform::kTransposingLds && D::elem_bytes == 2 && Vector >= 2 && kMovableColumns<Columns> ? TileWay::Rows
                                                                                               : TileWay::Slots;

template <class D, int Columns, int Vector, int Pad>
inline constexpr bool kDirectOperand =
    platform::kDirectLds && D::load_waves > 0 && D::elem_bytes == 2 && Vector == 8 && Pad == 0 &&
    kMovableColumns<Columns>&& D::copy_threads* Vector / Columns % 4 == 0;

template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices,
          TileWay Way = kTileWay<D, Columns, Vector>>
struct OperandInLds {
    using Layout = block::LdsLayout<Columns, D::k1, Vector, Pad>;
    using Copy =
        block::TileCopy<typename D::Out, Layout, D::k_per_block, RowVector, Slices, D::copy_threads, D::wave_size>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, TileWay::Rows> {
    using Layout = block::LdsRows<Columns, D::k1, Vector, Pad>;
    using Copy =
        block::RowCopy<typename D::Out, Layout, D::k_per_block, RowVector * Slices, D::copy_threads, D::wave_size>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, TileWay::Direct> {
    using Layout = block::LdsRows<Columns, D::k1, Vector, Pad>;
    using Copy =
        block::DirectCopy<typename D::Out, Layout, D::k_per_block, RowVector * Slices, D::copy_threads, D::wave_size>;
};

}  // namespace ckgen::conv
