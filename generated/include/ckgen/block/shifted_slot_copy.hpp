// Copied by ckgen from templates/include/ckgen/block/shifted_slot_copy.hpp. Do not edit; run: ckgen generate
// A SlotCopy of an operand that filter taps shift: a vector may begin at any element, some of its elements are padding,
// and one that reaches over an end of the tensor is loaded from inside and moved back in registers.
#pragma once

#include "ckgen/block/slot_copy.hpp"
#include "ckgen/block/unaligned_vector.hpp"

namespace ckgen::block {

template <class Base>
struct ShiftedSlotCopy : Base {
    using T = typename Base::T;
    using GlobalVector = typename Base::GlobalVector;
    static constexpr int element_bytes = sizeof(T);
    static constexpr int words = Base::vector * element_bytes / 4;
    static_assert(words >= 1 && (element_bytes == 2 || element_bytes == 4), "whole words of 16 or 32-bit elements");
    struct Registers : Base::Registers {
        uint32 padding[Base::slices];            // bit i: row i of the slot is padding
        int32 moved[Base::slices][Base::parts];  // bytes from where a vector was loaded to where it begins
    };

    // Loads one part of one slice. A vector begins at any element.
    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   Registers& registers, int slice, int part) {
        registers.data[slice][part] = load_unaligned<GlobalVector, T>(thread, window, offset);
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        Base::store(thread, lds_base, id, cleared(registers, registers));
        int32 any_moved = 0;
        CKGEN_UNROLL
        for(int slice = 0; slice < Base::slices; ++slice)
            CKGEN_UNROLL
        for(int part = 0; part < Base::parts; ++part)
            any_moved |= registers.moved[slice][part];
        if(any_moved != 0)  // at the ends of the tensor only: what was stored is replaced
            store_moved(thread, lds_base, id, registers);
    }

private:
    using Data = typename Base::Registers;

    static CKGEN_DEVICE Data cleared(Data data, const Registers& registers) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Base::slices; ++slice)
            CKGEN_UNROLL
        for(int part = 0; part < Base::parts; ++part)
            clear(data.data[slice][part], ~registers.padding[slice] >> part * Base::vector);
        return data;
    }
    static CKGEN_DEVICE void store_moved(const platform::Thread& thread, int lds_base, int id,
                                         const Registers& registers) {
        Data data = registers;
        CKGEN_UNROLL
        for(int slice = 0; slice < Base::slices; ++slice)
            CKGEN_UNROLL
        for(int part = 0; part < Base::parts; ++part)
            move_back(data.data[slice][part], registers.moved[slice][part] / element_bytes);
        Base::store(thread, lds_base, id, cleared(data, registers));
    }

    // Element i of the vector was loaded as element i + `by`; what lies outside the tensor becomes zero.
    static CKGEN_DEVICE void move_back(GlobalVector& vector, int by) {
        for(int left = min_of(by, Base::vector); left > 0; --left)
            CKGEN_UNROLL
        for(int word = 0; word < words; ++word) {
            const uint32 next = word + 1 < words ? vector[min_of(word + 1, words - 1)] : 0;
            vector[word] = element_bytes == 4 ? next : vector[word] >> 16 | next << 16;
        }
        for(int left = min_of(-by, Base::vector); left > 0; --left)
            CKGEN_UNROLL
        for(int word = words - 1; word >= 0; --word) {
            const uint32 before = word > 0 ? vector[max_of(word - 1, 0)] : 0;
            vector[word] = element_bytes == 4 ? before : vector[word] << 16 | before >> 16;
        }
    }

    // Clears the elements whose bit is 0.
    static CKGEN_DEVICE void clear(GlobalVector& vector, uint32 valid) {
        const auto kept = kept_bits<GlobalVector, element_bytes>(valid);
        CKGEN_UNROLL
        for(int word = 0; word < words; ++word)
            vector[word] &= kept[word];
    }
};

template <class Copy>
inline constexpr bool kShifted = false;
template <class Base>
inline constexpr bool kShifted<ShiftedSlotCopy<Base>> = true;

}  // namespace ckgen::block
