// Copied by ckgen from templates/include/ckgen/load/warp_split_operand.hpp. Do not edit; run: ckgen generate
// Operands of family warp_split, which lanes load from global memory to registers in pairs of elements of two bytes.
#pragma once

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

}  // namespace ckgen::load
