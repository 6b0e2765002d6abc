// A copy of an operand whose vectors lie in rows of an image: taps shift a vector to any element and over the ends of a
// row. Vectors of a slice have the same place in the row. Elements outside the row are cleared. A vector that reaches
// over an end of the plane is loaded from inside; its elements then rotate to where they belong.
#pragma once

#include "ckgen/block/unaligned_vector.hpp"

namespace ckgen::block {

// A vector at an end of a row.
struct RowEnd {
    static constexpr int moved_bits = 24;  // from this bit on, where kept_bits() reads none
    uint32 value;                          // bit i: element i is in the row; then elements to rotate by

    RowEnd() = default;
    // Elements from `first` to before `end` are in the row; element i was loaded as element i + `moved`.
    CKGEN_DEVICE RowEnd(int vector, int first, int end, int moved)
        : value((~0u << max_of(0, min_of(vector, first)) & ~(~0u << max_of(0, min_of(vector, end)))) |
                static_cast<uint32>(moved & (vector - 1)) << moved_bits) {}
    CKGEN_DEVICE uint32 moved() const { return value >> moved_bits; }
};

// OneEnd: all slices have the same place, those of one tap.
template <class Base, bool OneEnd>
struct RowEndCopy : Base {
    using T = typename Base::T;
    using GlobalVector = typename Base::GlobalVector;
    using Data = typename Base::Registers;
    static constexpr int element_bytes = sizeof(T);
    static constexpr int words = static_cast<int>(sizeof(GlobalVector)) / 4;
    static_assert(words >= 1 && (words & (words - 1)) == 0, "a power of two of whole words");
    static constexpr int ends = OneEnd ? 1 : Base::slices;
    struct Registers : Data {
        RowEnd ends[RowEndCopy::ends];
        bool all_same;  // all slices have the first one's end; uniform
    };

    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   Registers& registers, int slice, int row) {
        registers.data[slice][row] = load_unaligned<GlobalVector, T>(thread, window, offset);
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        Data data = registers;
        uint32 any_moved = 0;
        CKGEN_UNROLL
        for(int end = 0; end < ends; ++end)
            any_moved |= registers.ends[end].moved();
        if(any_moved != 0)  // at the ends of a plane only
            CKGEN_UNROLL
        for(int slice = 0; slice < Base::slices; ++slice)
            CKGEN_UNROLL
        for(int row = 0; row < Base::rows; ++row)
            rotate(data.data[slice][row], registers.ends[end_of(slice)].moved());
        if(OneEnd || registers.all_same) {
            const GlobalVector kept = kept_bits<GlobalVector, element_bytes>(registers.ends[0].value);
            CKGEN_UNROLL
            for(int slice = 0; slice < Base::slices; ++slice)
                clear(data, slice, kept);
        } else {
            CKGEN_UNROLL
            for(int slice = 0; slice < Base::slices; ++slice)
                clear(data, slice, kept_bits<GlobalVector, element_bytes>(registers.ends[end_of(slice)].value));
        }
        Base::store(thread, lds_base, id, data);
    }

    static CKGEN_HD constexpr int end_of(int slice) { return OneEnd ? 0 : slice; }

private:
    static CKGEN_DEVICE void clear(Data& data, int slice, const GlobalVector& kept) {
        CKGEN_UNROLL
        for(int row = 0; row < Base::rows; ++row)
            CKGEN_UNROLL
        for(int word = 0; word < words; ++word)
            data.data[slice][row][word] &= kept[word];
    }

    // Element i becomes what element i + `by`, modulo the vector, was.
    static CKGEN_DEVICE void rotate(GlobalVector& vector, uint32 by) {
        constexpr int in_word = 4 / element_bytes;
        CKGEN_UNROLL
        for(int step = 1; step < words * in_word; step *= 2) {
            const GlobalVector before = vector;
            const bool moves = (by & static_cast<uint32>(step)) != 0;
            CKGEN_UNROLL
            for(int word = 0; word < words; ++word) {
                const uint32 other = before[(word + max_of(1, step / in_word)) % words];
                const uint32 moved = step < in_word ? before[word] >> 16 | other << 16 : other;
                vector[word] = moves ? moved : before[word];
            }
        }
    }
};

}  // namespace ckgen::block
