// Copied by ckgen from templates/include/ckgen/load/warp_split_operand.hpp. Do not edit; run: ckgen generate
// Operands of family warp_split, which lanes load from global memory to registers in pairs of elements of two bytes.
#pragma once

#include "ckgen/load/im2col_source.hpp"
#include "ckgen/math.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::load {

// An operand in global memory: rows of neighbouring elements of two bytes.
class WarpSplitOperand {
public:
    CKGEN_DEVICE WarpSplitOperand(const char* base, int64 row_bytes, int rows, int columns)
        : base_(base), row_bytes_(row_bytes), rows_(rows), columns_(columns) {
        const auto bits = static_cast<uint32>(reinterpret_cast<uint64>(base) | static_cast<uint64>(row_bytes)) | 16u;
        aligned_ = static_cast<int>(bits & (~bits + 1));
    }

    // Loads Width elements of a row as pairs. Elements outside are zero. `column` is a multiple of Width.
    template <int Width>
    CKGEN_DEVICE void load(const platform::Thread& thread, int row, int column, uint32 (&pairs)[Width / 2]) const {
        CKGEN_UNROLL
        for(int i = 0; i < Width / 2; ++i)
            pairs[i] = 0;
        const int left = row < rows_ ? columns_ - column : 0;
        const char* const source = base_ + row * row_bytes_ + int64{column} * 2;
        if(aligned_ >= 2 * Width && left >= Width)
            load_vectors<Width>(thread, source, left, pairs);
        else if(Width > 4 && aligned_ >= 8 && left % 4 == 0)
            load_vectors<min_of(Width, 4)>(thread, source, left, pairs);
        else if(aligned_ >= 4 && left % 2 == 0)
            load_vectors<2>(thread, source, left, pairs);
        else
            load_elements(thread, source, left, pairs);
    }

    // The same as load() of Rows rows from `row` on; with one branch for all of them if they are whole vectors.
    template <int Width, int Rows>
    CKGEN_DEVICE void load_rows(const platform::Thread& thread, int row, int column,
                                uint32 (&pairs)[Rows][Width / 2]) const {
        if(aligned_ >= 2 * Width && column + Width <= columns_ && row + Rows <= rows_) {
            const char* source = base_ + row * row_bytes_ + int64{column} * 2;
            CKGEN_UNROLL
            for(int i = 0; i < Rows; ++i, source += row_bytes_)
                load_vectors<Width>(thread, source, Width, pairs[i]);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < Rows; ++i)
                load<Width>(thread, row + i, column, pairs[i]);
        }
    }

private:
    template <int Vector, int Pairs>
    static CKGEN_DEVICE void load_vectors(const platform::Thread& thread, const char* source, int left,
                                          uint32 (&pairs)[Pairs]) {
        CKGEN_UNROLL
        for(int first = 0; first < 2 * Pairs; first += Vector)
            if(first < left) {
                const auto values = thread.template global_load<Vec<uint32, Vector / 2>>(source + first * 2);
                CKGEN_UNROLL
                for(int i = 0; i < Vector / 2; ++i)
                    pairs[first / 2 + i] = values[i];
            }
    }
    template <int Pairs>
    static CKGEN_DEVICE void load_elements(const platform::Thread& thread, const char* source, int left,
                                           uint32 (&pairs)[Pairs]) {
        CKGEN_UNROLL
        for(int i = 0; i < 2 * Pairs; ++i)
            if(i < left)
                pairs[i / 2] |= uint32{thread.template global_load<uint16>(source + i * 2)} << i % 2 * 16;
    }

    const char* base_;
    int64 row_bytes_;
    int rows_, columns_;
    int aligned_;  // bytes to which every row is aligned, at most 16
};

// An operand whose rows are channels, in planes of neighbouring positions of each image; its columns are the positions
// of all images. Planes are multiples of 4 positions, and 8 bytes are aligned.
class WarpSplitPlanes {
public:
    struct Images {
        int count, positions;
        int64 bytes;  // from one image to the next
    };

    CKGEN_DEVICE WarpSplitPlanes(const char* base, int64 row_bytes, int rows, const Images& images)
        : base_(base), row_bytes_(row_bytes), rows_(rows), images_(images) {
        const uint64 bytes = reinterpret_cast<uint64>(base) | static_cast<uint64>(row_bytes | images.bytes);
        whole_ = (bytes | static_cast<uint64>(2 * images.positions)) % 16 == 0;
    }

    // Loads Width positions of a row as pairs, 4 or 8; those after the last image are zero.
    template <int Width>
    CKGEN_DEVICE void load(const platform::Thread& thread, int row, int column, uint32 (&pairs)[Width / 2]) const {
        if(Width > 4 && whole_)
            load_vectors<Width>(thread, row, column, pairs);
        else
            load_vectors<4>(thread, row, column, pairs);
    }

private:
    template <int Vector, int Pairs>
    CKGEN_DEVICE void load_vectors(const platform::Thread& thread, int row, int column, uint32 (&pairs)[Pairs]) const {
        const auto positions = static_cast<uint32>(images_.positions);
        CKGEN_UNROLL
        for(int first = 0; first < 2 * Pairs; first += Vector) {
            const auto term = static_cast<uint32>(column + first), image = term / positions;
            Vec<uint32, Vector / 2> values{};
            if(row < rows_ && image < static_cast<uint32>(images_.count))
                values = thread.template global_load<Vec<uint32, Vector / 2>>(
                    base_ + image * images_.bytes + row * row_bytes_ + (term - image * positions) * 2);
            CKGEN_UNROLL
            for(int i = 0; i < Vector / 2; ++i)
                pairs[first / 2 + i] = values[i];
        }
    }

    const char* base_;
    int64 row_bytes_;
    int rows_;
    Images images_;
    bool whole_;  // 16 bytes are in one plane, and aligned
};

// The input of backward weight under any filter as a matrix in im2col order, channels last: rows are output positions,
// columns are taps and channels. A lane has Columns columns, 8 apart, and loads single elements: neighbouring lanes
// have neighbouring columns, which are neighbouring elements under the taps of a filter row. Columns past the last one
// read taps of the filter again; their sums are not stored.
template <int NDim, int Columns>
class WarpSplitTaps {
    using Cursor = conv::ImageCursor<NDim, int64>;

public:
    // `base`: the group's first element. `column`: the first of the lane. The first load is of the rows from `row` on,
    // each later one of those `rows` further.
    CKGEN_DEVICE WarpSplitTaps(const platform::Thread& thread, const conv::BwdWeightArgs& args, const char* base,
                               int column, int row, int rows)
        : args_(args), base_(base), left_(args.k - row), rows_(rows),
          step_bytes_(static_cast<int32>(args.stride[NDim - 1] * args.in_stride_bytes[NDim - 1])),
          step_(thread, args, rows), first_(args, row) {
        CKGEN_UNROLL
        for(int j = 0; j < Columns; ++j) {
            const int number = column + 8 * j, tap = number / args.c;
            taps_[j] = conv::Tap<NDim>(args, tap);
            offset_[j] = static_cast<int32>(taps_[j].offset(args)) + (number - tap * args.c) * 2;
        }
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            inner_[d] = args.in_length[d] - (args.filter[d] - 1) * args.dilation[d];
    }

    // Loads 2 * Pairs positions, two per register.
    template <int Pairs>
    CKGEN_DEVICE void load(const platform::Thread& thread, uint32 (&pairs)[Columns][Pairs]) {
        uint32 values[Columns][2 * Pairs];
        if(sees_no_padding(2 * Pairs)) {
            const char* position = base_ + first_.offset;
            CKGEN_UNROLL
            for(int i = 0; i < 2 * Pairs; ++i, position += step_bytes_)
                CKGEN_UNROLL
            for(int j = 0; j < Columns; ++j)
                values[j][i] = thread.template global_load<uint16>(position + offset_[j]);
        } else {
            Cursor at = first_;
            CKGEN_UNROLL
            for(int i = 0; i < 2 * Pairs; ++i, at.next(args_))
                CKGEN_UNROLL
            for(int j = 0; j < Columns; ++j) {
                values[j][i] = 0;
                if(i < left_ && !taps_[j].sees_padding(args_, at))
                    values[j][i] = thread.template global_load<uint16>(base_ + at.offset + offset_[j]);
            }
        }
        CKGEN_UNROLL
        for(int j = 0; j < Columns; ++j)
            CKGEN_UNROLL
        for(int i = 0; i < Pairs; ++i)
            pairs[j][i] = values[j][2 * i] | values[j][2 * i + 1] << 16;
        first_.advance(args_, step_);
        left_ -= rows_;
    }

private:
    // True if no tap sees padding at the next `count` positions as if they were in one line of an image. Then they are:
    // a tap sees padding one position after a line.
    CKGEN_DEVICE bool sees_no_padding(int count) const {
        constexpr int last = NDim - 1;
        const int reach = first_.position[last] + (count - 1) * args_.stride[last];
        bool inside = (left_ >= count) & (reach - args_.pad[last] < inner_[last]);
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            const int first = first_.position[d] - args_.pad[d];
            inside &= (first >= 0) & (first < inner_[d]);
        }
        return inside;
    }
    const conv::BwdWeightArgs& args_;
    const char* base_;
    int left_, rows_;   // positions from the lane's next one on; from one load to the next
    int32 step_bytes_;  // from an output position to the next
    const conv::ImageStep<NDim> step_;
    Cursor first_;  // of the next load
    conv::Tap<NDim> taps_[Columns];
    int32 offset_[Columns];  // of the element under the tap from that under tap 0 without padding
    int32 inner_[NDim];      // positions from which no tap sees padding
};

}  // namespace ckgen::load
