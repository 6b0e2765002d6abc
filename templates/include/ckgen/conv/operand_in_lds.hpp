// How an operand that is contiguous along columns in global memory lies in LDS and gets there.
#pragma once

#include "ckgen/block/row_copy.hpp"
#include "ckgen/block/tile_copy.hpp"

namespace ckgen::conv {

// By rows where LDS reads transpose 16-bit elements, else in slots.
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices,
          bool ByRows = platform::kTransposingLds && D::elem_bytes == 2 && Vector >= 2>
struct OperandInLds {
    using Layout = block::LdsLayout<Columns, D::k1, Vector, Pad>;
    using Copy = block::TileCopy<typename D::Out, Layout, D::k_per_block, RowVector, Slices, D::copy_threads>;
};
template <class D, int Columns, int Vector, int Pad, int RowVector, int Slices>
struct OperandInLds<D, Columns, Vector, Pad, RowVector, Slices, true> {
    using Layout = block::LdsRows<Columns, D::k1, Vector, Pad>;
    using Copy = block::RowCopy<typename D::Out, Layout, D::k_per_block, RowVector * Slices, D::copy_threads>;
};

}  // namespace ckgen::conv
