// Copied by ckgen from templates/include/ckgen/block/slot_copy.hpp. Do not edit; run: ckgen generate
// Global memory -> registers -> LDS for a tile that is contiguous along GEMM-K in global memory, as its slots are in
// LDS, so that no transposition is needed. A thread has whole slots (K1 rows of GEMM-K of one column), which it loads
// in parts of `Vector`. Neighbouring threads load the planes of a column, then columns; a thread has the same plane in
// each of its slices. A pad puts the planes that eight threads write into different banks. Of `Launched` threads, those
// after the first `Threads` load what others load and store nothing.
#pragma once

#include "ckgen/block/lds_layout.hpp"
#include "ckgen/block/tile_copy.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::block {

// T: the type in global memory. Compute: the type in LDS. Threads: those that copy, of Launched. Wave: threads of a
// wave.
template <class T_, class Layout_, int KPerBlock, int Vector, int Slices, int Threads, int Launched, int Wave,
          class Compute = T_>
struct SlotCopy {
    using T = T_;
    using Layout = Layout_;
    static constexpr int k_per_block = KPerBlock;
    static constexpr int slices = Slices;
    static constexpr int row_slices = 1;           // all slices have the same rows
    static constexpr int thread_columns = Slices;  // and different columns
    static constexpr int vector = Vector;
    static constexpr int parts = Layout::k1 / Vector;
    static constexpr int rows = parts;
    static constexpr int slice_rows = 0;
    static constexpr int planes = KPerBlock / Layout::k1;
    static constexpr int wave_groups = planes;  // of threads with the same rows
    static constexpr int wave_size = Wave;
    static constexpr int slice_columns = Threads / planes;
    static_assert(Threads % planes == 0 && slice_columns * Slices == Layout::columns, "the slots cover the tile");
    static_assert(Layout::vector == 1, "slots are columns");

    using GlobalVector = typename WordsOrLess<Vector* static_cast<int>(sizeof(T))>::type;
    using ComputeVector = typename WordsOrLess<Vector* static_cast<int>(sizeof(Compute))>::type;
    struct Registers {
        GlobalVector data[Slices][parts];
    };

    static CKGEN_HD constexpr int column_of(int thread, int slice) {
        return (Threads < Launched ? thread % Threads : thread) / planes + slice * slice_columns;
    }
    static CKGEN_HD constexpr int row_of(int thread, int = 0) { return thread % planes * Layout::k1; }
    static CKGEN_HD constexpr int wave_row(int) { return 0; }
    static CKGEN_HD constexpr int group_of(int thread) { return thread % planes; }

    // Loads one part of one slice.
    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   Registers& registers, int slice, int part) {
        registers.data[slice][part] = window.template load<GlobalVector>(thread, offset);
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        if constexpr(Threads < Launched)
            if(id >= Threads)
                return;
        const int byte = lds_base + Layout::byte_of(id % planes, column_of(id, 0));
        CKGEN_UNROLL
        for(int slice = 0; slice < Slices; ++slice) {
            const int at = byte + slice * slice_columns * Layout::slot_bytes;
            if constexpr(IsSame<T, Compute>::value) {
                thread.lds_store(at, joined(registers.data[slice]));
            } else {
                ComputeVector pieces[parts];
                CKGEN_UNROLL
                for(int part = 0; part < parts; ++part)
                    pieces[part] = converted<T, Compute, ComputeVector>(thread, registers.data[slice][part]);
                thread.lds_store(at, joined(pieces));
            }
        }
    }

private:
    static CKGEN_DEVICE Vec<uint32, 4> joined(const ComputeVector (&pieces)[parts]) {
        Vec<uint32, 4> slot;
        CKGEN_UNROLL
        for(int word = 0; word < 4; ++word) {
            if constexpr(sizeof(ComputeVector) < 4) {
                constexpr int in_word = 4 / sizeof(ComputeVector);
                slot[word] = pieces[in_word * word][0];
                CKGEN_UNROLL
                for(int i = 1; i < in_word; ++i)
                    slot[word] |= static_cast<uint32>(pieces[in_word * word + i][0]) << (32 / in_word * i);
            } else {
                constexpr int words = sizeof(ComputeVector) / 4;
                slot[word] = pieces[word / words][word % words];
            }
        }
        return slot;
    }
};

}  // namespace ckgen::block
