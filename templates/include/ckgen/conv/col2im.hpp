// Family col2im of backward data: a product of all taps of a filter row, and the sums of its columns that make the
// input. Host planning and kernels read the same values.
//
// In the last dimension, of stride s, cell v has the input positions s * v + u - pad with u = 0 .. s - 1. Tap x reaches
// that position from output position v - (dilation * x - u) / s, if this is an integer. So, with
//     P[o][x][c] = sum over k of out[o][k] * wei[k][x][c]
//     in[s * v + u - pad][c] = sum over those x of P[v - (dilation * x - u) / s][x][c]
// The rows of the product P are cells, its columns are the taps x and the channels c. The sum is called col2im in deep
// learning. Taps of the other dimensions belong to GEMM-K as usual. In the dimension before the last, if its dilation
// is 1, a cell has the input rows of one stride as well: tap y + s * j reaches row y of a cell from output row j before
// it. Columns are then [row of the cell][tap x][channel]: the order of the weight in memory.
#pragma once

#include "ckgen/conv/divider.hpp"

namespace ckgen::conv {

inline constexpr int kMostPlaces = 16;  // the largest stride of the last dimension

// The taps that reach place u of a cell: the first, their number, and how far before the cell its output position is.
struct PlaceTaps {
    int32 first, count, back;
};

struct Col2im {
    int32 channels, taps;  // C, and the taps of a filter row
    int32 stride, pad;     // of the last dimension
    int32 tilde, shift;    // from a tap of a place to its next, and how much further before the cell it reads
    PlaceTaps places[kMostPlaces];
    Divider by_vectors, by_channels;  // divisors: the vectors of a cell's row, and of a position
    int32 rows_at_once;               // cells whose vectors all threads write at once
    int32 rows;                       // input rows of a cell
    int32 first_row;                  // input row that begins the first cell; not above 0
    int32 in_rows, in_columns;        // lengths of the input's last two dimensions
    int32 columns;                    // of the product: rows * taps * channels
    int32 row_overlap;                // rows that a tile has in common with the next
    int32 weight_step, weight_row;    // elements from one tap j of the weight to the next, and of all
};

}  // namespace ckgen::conv
