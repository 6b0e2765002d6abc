// Copied by ckgen from templates/include/ckgen/load/plane_block.hpp. Do not edit; run: ckgen generate
// Neighbouring rows of a tile of backward data whose rows are the positions of images, one image after the other.
#pragma once

#include "ckgen/load/bwd_data_view.hpp"

namespace ckgen::conv {

// 64 rows, from a multiple of 8 on. They begin at `position` of `image`; from row `split` on, if that is among them,
// they are positions of the next image, from its first on. Rows of an image past its last position do not exist.
struct PlaneBlock {
    static constexpr int rows = 64;

    int image, position, split;

    CKGEN_DEVICE PlaneBlock(const BwdDataUnits& units, const BwdDataTile<1>& tile, int row) {
        const Walk<2> first(tile.count, units.sub_gemms[0].by, row);
        image = first.at[0];
        position = first.at[1];
        split = tile.count[1] - position;
    }

    // The positions of the first image that exist, from `position` on, also past the rows.
    CKGEN_DEVICE int first_positions(const BwdDataArgs& args) const {
        return image < args.images ? args.positions - position : 0;
    }
    // The positions of the second image that exist among the rows.
    CKGEN_DEVICE int second_positions(const BwdDataArgs& args) const {
        return split < rows && image + 1 < args.images ? min_of(args.positions, rows - split) : 0;
    }
};

}  // namespace ckgen::conv
