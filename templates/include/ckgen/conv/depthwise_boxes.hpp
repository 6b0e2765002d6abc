// The division of work in family depthwise_tma of backward data: host planning and kernels read the same values. A tile
// is some positions of the input, of some images and of the groups of a workgroup. It reads a box of the output.
#pragma once

#include "ckgen/conv/divider.hpp"

namespace ckgen::conv {

// Properties of an instance; 0 channels for other families.
struct DepthwiseBoxLimits {
    int channels;    // groups of a workgroup
    int taps, rows;  // of the filter
    int positions;   // of a segment, at most
    int warps;       // that compute
    int lds_bytes;
};

struct DepthwiseBoxes {
    static constexpr int pitch = 128;  // bytes of a position in shared memory

    int32 images, rows, columns;  // positions of a tile
    int32 box_rows, box_columns;  // positions of an image that a box has
    int32 segments, length;       // of a row of the tile; positions of a segment
    int32 units;                  // segments of the tile
    int32 stages, stage_bytes;
    int32 channel_blocks, column_tiles, row_tiles;
    int32 tiles, workgroups;
    Divider by_segments, by_rows;                              // of units
    Divider by_channel_blocks, by_column_tiles, by_row_tiles;  // of tiles
};

// The place of tile `number`. Groups are innermost, so that tiles that are computed at the same time fill lines of
// memory; images are outermost.
struct DepthwiseTile {
    int32 channel_block, column, row, image;

    CKGEN_HD DepthwiseTile(const DepthwiseBoxes& boxes, int32 number) {
        const int32 area = boxes.by_channel_blocks.quotient(number);
        channel_block = number - area * boxes.channel_blocks;
        const int32 strip = boxes.by_column_tiles.quotient(area);
        column = (area - strip * boxes.column_tiles) * boxes.columns;
        const int32 block = boxes.by_row_tiles.quotient(strip);
        row = (strip - block * boxes.row_tiles) * boxes.rows;
        image = block * boxes.images;
    }
};

}  // namespace ckgen::conv
