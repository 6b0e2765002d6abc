// Copied by ckgen from templates/include/ckgen/block/tile_copy.hpp. Do not edit; run: ckgen generate
// Global memory -> registers -> LDS for one operand's tile, with a transposition in registers: global memory is
// contiguous along columns (channels), LDS along GEMM-K.
//
// A thread copies `slices` blocks of RowVector rows x ColumnVector columns: RowVector loads of ColumnVector elements,
// transposed in registers into ColumnVector LDS writes of RowVector elements. Neighbouring threads take first the parts
// of a slot, then neighbouring columns, then planes. With few threads, a slice fills only some parts of each slot.
// Of `Launched` threads, those after the first `Threads` load rows after the tile and store nothing.
#pragma once

#include "ckgen/block/lds_layout.hpp"
#include "ckgen/compute_types.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::block {

// The registers of an access: whole words, or one narrower unit.
template <int Bytes>
struct WordsOrLess {
    using type = Vec<uint32, Bytes / 4>;
};
template <>
struct WordsOrLess<2> {
    using type = Vec<uint16, 1>;
};
template <>
struct WordsOrLess<1> {
    using type = Vec<uint8, 1>;
};

template <int Bytes>
struct UnitOf {
    using type = uint32;
};
template <>
struct UnitOf<2> {
    using type = uint16;
};

// The elements of an access, each rounded from From to To.
// Without pin() the compiler converts directly after the load, where it has to wait for it. Without the boundary it
// converts many accesses side by side, whose comparisons need more scalar registers than there are.
template <class From, class To, class ToVector, class FromVector>
CKGEN_DEVICE ToVector converted(const platform::Thread& thread, FromVector vector) {
    using Unit = typename UnitOf<sizeof(FromVector)>::type;
    struct Source {
        From values[sizeof(FromVector) / sizeof(From)];
    };
    struct Target {
        To values[sizeof(FromVector) / sizeof(From)];
    };
    static_assert(sizeof(Source) == sizeof(FromVector) && sizeof(Target) == sizeof(ToVector), "whole elements");
    CKGEN_UNROLL
    for(auto& unit : vector.data)
        unit = static_cast<Unit>(thread.pin(static_cast<int>(unit)));
    const auto source = __builtin_bit_cast(Source, vector);
    Target target;
    convert(source.values, target.values);
    if constexpr(sizeof(To) == 1)
        thread.schedule_boundary();
    return __builtin_bit_cast(ToVector, target);
}

// A load of at most 32 bytes; no instruction loads more than 16.
template <class V, class Window>
CKGEN_DEVICE V load_vector(const platform::Thread& thread, const Window& window, uint32 offset) {
    if constexpr(sizeof(V) <= 16) {
        return window.template load<V>(thread, offset);
    } else {
        using Half = Vec<uint32, 4>;
        static_assert(sizeof(V) == 2 * sizeof(Half), "two loads");
        const auto low = window.template load<Half>(thread, offset);
        const auto high = window.template load<Half>(thread, offset + sizeof(Half));
        V value;
        CKGEN_UNROLL
        for(int word = 0; word < 4; ++word) {
            value[word] = low[word];
            value[word + 4] = high[word];
        }
        return value;
    }
}

// T: the type in global memory. Compute: the type in LDS. Threads: those that copy, of Launched. Wave: threads of a
// wave.
template <class T_, class Layout_, int KPerBlock, int RowVector, int Slices, int Threads, int Launched, int Wave,
          class Compute = T_>
struct TileCopy {
    using T = T_;
    using Layout = Layout_;
    static constexpr int rows = RowVector;
    static constexpr int slices = Slices;
    static constexpr int row_slices = Slices;  // slices with different rows
    static constexpr int thread_columns = 1;   // and with different columns
    static constexpr int column_vector = Layout::vector;
    static constexpr int parts = Layout::k1 / RowVector;                  // threads that fill one slot
    static constexpr int threads_x = Layout::columns / column_vector;     // threads across the columns
    static constexpr int run_parts = min_of(parts, Threads / threads_x);  // parts of a slot that a slice fills
    static constexpr int run = run_parts * threads_x;                     // threads in one plane
    static_assert(Slices * Threads * RowVector * column_vector == Layout::columns * KPerBlock,
                  "the blocks cover the tile exactly");
    static_assert(Threads % run == 0 && parts % run_parts == 0, "a thread has the same columns in every slice");

    // A slice of a wave has this many groups of RowVector neighbouring rows, one group per thread.
    static constexpr int k_per_block = KPerBlock;
    static constexpr int wave_groups = run_parts * runs_in_wave(Threads, run, Wave);
    static constexpr int wave_size = Wave;
    static constexpr int slice_rows = Threads / threads_x * RowVector;  // from one slice to the next

    // Registers hold whole words if an access has them, because the transposition works on words.
    static constexpr int row_bytes = column_vector * static_cast<int>(sizeof(T));
    using GlobalVector = typename WordsOrLess<row_bytes>::type;
    using ComputeVector = typename WordsOrLess<column_vector* static_cast<int>(sizeof(Compute))>::type;
    using LdsVector = typename WordsOrLess<RowVector* static_cast<int>(sizeof(Compute))>::type;
    struct Registers {
        GlobalVector data[Slices][RowVector];
    };

    // Loads one row of one slice.
    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   Registers& registers, int slice, int row) {
        registers.data[slice][row] = load_vector<GlobalVector>(thread, window, offset);
    }

    // Tile row and tile column of the first element of a slice.
    static CKGEN_HD constexpr int row_of(int thread, int slice) {
        return thread / run * Layout::k1 + thread % run_parts * RowVector + slice * slice_rows;
    }
    static CKGEN_HD constexpr int column_of(int thread, int = 0) {
        return thread / run_parts % threads_x * column_vector;
    }
    static CKGEN_HD constexpr int wave_row(int thread) { return row_of(thread / Wave * Wave, 0); }
    static CKGEN_HD constexpr int group_of(int thread) { return (row_of(thread, 0) - wave_row(thread)) / RowVector; }

    // LDS byte of a thread's slice, element 0: slices are whole planes apart, or parts of a slot.
    static CKGEN_HD constexpr int lds_byte(int thread, int slice) {
        const int row = row_of(thread, 0);
        return Layout::byte_of(row / Layout::k1, Layout::slot_of_column(column_of(thread))) +
               row % Layout::k1 * static_cast<int>(sizeof(Compute)) +
               slice * slice_rows / Layout::k1 * Layout::plane_bytes +
               slice * slice_rows % Layout::k1 * static_cast<int>(sizeof(Compute));
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        if constexpr(Threads < Launched)
            if(id >= Threads)
                return;
        CKGEN_UNROLL
        for(int slice = 0; slice < Slices; ++slice) {
            const int byte = lds_base + lds_byte(id, slice);
            LdsVector lines[column_vector];
            if constexpr(IsSame<T, Compute>::value) {
                CKGEN_UNROLL
                for(int column = 0; column < column_vector; ++column)
                    lines[column] = transposed(thread, registers.data[slice], column);
            } else {
                ComputeVector rows[RowVector];
                CKGEN_UNROLL
                for(int row = 0; row < RowVector; ++row)
                    rows[row] = converted<T, Compute, ComputeVector>(thread, registers.data[slice][row]);
                CKGEN_UNROLL
                for(int column = 0; column < column_vector; ++column)
                    lines[column] = transposed(thread, rows, column);
            }
            CKGEN_UNROLL
            for(int column = 0; column < column_vector; ++column)
                thread.lds_store(byte + column * Layout::group_threads * Layout::slot_bytes, lines[column]);
        }
    }

private:
    // The RowVector elements of one column. A word holds one element of f32, or elements of two or four rows of a
    // narrower type; a narrower write has those of one or two rows. Without pin() the compiler collects the columns of
    // f32 directly after their loads, where it has to wait for them.
    static CKGEN_DEVICE LdsVector transposed(const platform::Thread& thread, const ComputeVector (&rows)[RowVector],
                                             int column) {
        LdsVector line;
        if constexpr(sizeof(Compute) == 1 && RowVector < 4) {
            line[0] = static_cast<uint8>(byte_of(rows[0], column));
            if constexpr(RowVector == 2)
                line[0] = static_cast<uint16>(line[0] | byte_of(rows[1], column) << 8);
            return line;
        } else if constexpr(sizeof(LdsVector) == 2) {
            const uint32 word = rows[0][column / 2];
            line[0] = static_cast<uint16>(column % 2 == 0 ? word : word >> 16);
            return line;
        }
        CKGEN_UNROLL
        for(int word = 0; word < RowVector * static_cast<int>(sizeof(Compute)) / 4; ++word) {
            if constexpr(sizeof(Compute) == 4) {
                line[word] = column_vector > 1 ? thread.pin(rows[word][column]) : rows[word][column];
            } else if constexpr(sizeof(Compute) == 1) {
                line[word] = 0;
                CKGEN_UNROLL
                for(int row = 0; row < 4; ++row)
                    line[word] |= byte_of(rows[4 * word + row], column) << (8 * row);
            } else {
                const uint32 even = rows[2 * word][column / 2];
                const uint32 odd = rows[2 * word + 1][column / 2];
                line[word] = column % 2 == 0 ? platform::merge_halves<false>(even, odd)
                                             : platform::merge_halves<true>(even, odd);
            }
        }
        return line;
    }

    // Element `column` of a row of 8-bit elements.
    static CKGEN_DEVICE uint32 byte_of(const ComputeVector& row, int column) {
        constexpr int unit = min_of(4, static_cast<int>(sizeof(ComputeVector)));
        return static_cast<uint32>(row[column / unit]) >> (8 * (column % unit)) & 0xffu;
    }
};

}  // namespace ckgen::block
