// Copied by ckgen from templates/include/ckgen/epilogue/weight_columns.hpp. Do not edit; run: ckgen generate
// The columns of the tiles of backward weight by TMA, which have whole boxes of channels per tap.
#pragma once

#include "ckgen/conv/bwd_weight_args.hpp"

namespace ckgen::epilogue {

struct WeightColumns {
    int32 columns, tap_columns, channels;

    CKGEN_DEVICE explicit WeightColumns(const conv::BwdWeightArgs& p)
        : columns(p.columns), tap_columns(p.tap_columns), channels(p.c) {}

    // The weight of an output channel that a column is; negative for padding. Neighbouring weights have neighbouring
    // columns within a box.
    CKGEN_DEVICE int weight(int column) const {
        if(column >= columns)
            return -1;
        if(tap_columns == channels)
            return column;
        const int tap = column / tap_columns;
        const int channel = column - tap * tap_columns;
        return channel < channels ? tap * channels + channel : -1;
    }
};

}  // namespace ckgen::epilogue
