// The common part of the stores of wgmma kernels of backward data with positions side by side: the results of a
// warpgroup go through shared memory in lines of 64 positions by some columns.
#pragma once

#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/epilogue/plane_words.hpp"

namespace ckgen::epilogue {

// Store derives from this and has put_lines<Lines>() for results without D tensors, and put_block() for those with.
template <class D, class Store>
class PlaneLines {
    static_assert(D::kernel_ndim == 1, "all positions of an image are one dimension");

public:
    // A line is 64 rows of 128 bytes in shared memory: 64 positions of each column.
    static constexpr int row_positions = 128 / static_cast<int>(sizeof(typename D::In));
    static constexpr int column_rows = 64 / row_positions;
    static constexpr int line_columns = 64 / column_rows;
    static constexpr int line_bytes = 64 * 128;
    static constexpr int blocks_at_once = line_columns / 8;  // blocks of 8 columns per put()
    static constexpr int most_lines = min_of(D::n_per_block, 128) / 64;
    static constexpr int lds_bytes = most_lines * line_bytes / 4;  // per warp

    template <class Args, class Tile>
    static CKGEN_DEVICE void prefetch(const Args&, const conv::BwdDataUnits&, const Tile&, int) {}

    // `acc`: half a line's columns as floats per line, from column line_columns * first on. The whole warpgroup takes
    // part.
    template <int Lines = 1>
    CKGEN_DEVICE void put(int first, const float* acc) const {
        const Store& store = static_cast<const Store&>(*this);
        if constexpr(D::d_tensors == 0) {
            store.template put_lines<Lines>(first, acc);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < Lines * blocks_at_once; ++i)
                store.put_block(first * blocks_at_once + i, acc + 4 * i);
        }
    }
};

}  // namespace ckgen::epilogue
