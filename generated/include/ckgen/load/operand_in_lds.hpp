// Copied by ckgen from templates/include/ckgen/load/operand_in_lds.hpp. Do not edit; run: ckgen generate
// Ways to bring an operand to LDS, and its layout there.
#pragma once

#include "ckgen/block/direct_copy.hpp"
#include "ckgen/block/slot_copy.hpp"
#include "ckgen/block/tile_copy.hpp"

namespace ckgen::conv {

// KMajor: the operand is contiguous along GEMM-K in global memory, as slots are. In the other ways it is contiguous
// along columns. Slots: each slot has elements of one column; threads transpose in registers. Rows: row-major, where
// LDS reads can transpose 16-bit elements. Direct: row-major through direct-to-LDS loads, which need 16 bytes per lane
// for every operand. DirectKMajor: the same for an operand that is contiguous along GEMM-K, by columns.
enum class TileWay { Slots, Rows, Direct, KMajor, DirectKMajor };

// The columns of a row are permuted in groups of 32 (LdsRows).
template <int Columns>
inline constexpr bool kMovableColumns = Columns % 32 == 0;

template <class D, int Columns, int Vector, int Threads, bool IsKMajor = false>
inline constexpr TileWay kTileWay = IsKMajor ? TileWay::KMajor
                                    : platform::kTransposingLds && D::compute_bytes == 2 && Vector >= 2 &&
                                            kMovableColumns<Columns> && Threads == D::copy_threads
                                        ? TileWay::Rows
                                        : TileWay::Slots;

template <class D, int Columns, int Vector, int Pad, bool IsKMajor>
inline constexpr bool kDirectOperand =
    platform::kDirectLds && !IsKMajor && D::load_waves > 0 && D::compute_bytes == 2 && Vector == 8 && Pad == 0 &&
    kMovableColumns<Columns>&& D::copy_threads* Vector / Columns % 4 == 0;

// The same for an operand that is contiguous along GEMM-K. Its pad stays empty at the end of the tile.
template <class D, int Columns, int Vector>
inline constexpr bool kDirectSlots = platform::kDirectLds && D::load_waves > 0 && D::compute_bytes == 2 &&
                                     Vector == 8 && 16 % D::planes == 0 && D::copy_threads / D::planes % 16 == 0;

// Threads: those that copy; the others of D::copy_threads are idle. Compute: the type in LDS.
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices, int Threads, class Compute,
          TileWay Way = kTileWay<D, Columns, Vector, Threads>>
struct OperandInLds {
    using Layout = block::LdsLayout<Columns, D::k1, Vector, Pad>;
    using Copy = block::TileCopy<typename D::Out, Layout, D::k_per_block, RowVector, Slices, Threads, D::copy_threads,
                                 D::wave_size, Compute>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices, int Threads, class Compute>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, Threads, Compute, TileWay::Rows> {
    using Layout = block::LdsRows<Columns, D::k1, Vector, Pad>;
    using Copy =
        block::RowCopy<typename D::Out, Layout, D::k_per_block, RowVector * Slices, D::copy_threads, D::wave_size>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices, int Threads, class Compute>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, Threads, Compute, TileWay::Direct> {
    using Layout = block::LdsRows<Columns, D::k1, Vector, Pad>;
    using Copy =
        block::DirectCopy<typename D::Out, Layout, D::k_per_block, RowVector * Slices, D::copy_threads, D::wave_size>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices, int Threads, class Compute>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, Threads, Compute, TileWay::KMajor> {
    using Layout = block::LdsLayout<Columns, D::k1, 1, Pad>;
    using Copy = block::SlotCopy<typename D::Out, Layout, D::k_per_block, min_of(Vector, D::k1), Slices, Threads,
                                 D::copy_threads, D::wave_size, Compute>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices, int Threads, class Compute>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, Threads, Compute, TileWay::DirectKMajor> {
    using Layout = block::LdsColumns<Columns, D::k1, D::planes>;
    using Copy = block::DirectSlotCopy<typename D::Out, Layout, D::k_per_block, Slices, D::copy_threads>;
};

}  // namespace ckgen::conv
