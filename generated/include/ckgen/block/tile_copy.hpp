// Copied by ckgen from templates/include/ckgen/block/tile_copy.hpp. Do not edit; run: ckgen generate
// Global memory -> registers -> LDS for one operand's tile, with the transposition in between: global memory is
// contiguous along columns (channels), LDS along GEMM-K.
//
// A thread's work is `slices` blocks of RowVector rows x ColumnVector columns: RowVector loads of ColumnVector
// elements, transposed in registers into ColumnVector LDS writes of RowVector elements. Neighbouring threads take first
// the parts of a slot, then neighbouring columns, then planes.
#pragma once

#include "ckgen/block/lds_layout.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::block {

template <class T_, class Layout_, int KPerBlock, int RowVector, int Slices, int Threads>
struct TileCopy {
    using T = T_;
    using Layout = Layout_;
    static constexpr int rows = RowVector;
    static constexpr int slices = Slices;
    static constexpr int column_vector = Layout::vector;
    static constexpr int parts = Layout::k1 / RowVector;               // threads that fill one slot
    static constexpr int threads_x = Layout::columns / column_vector;  // threads across the columns
    static constexpr int plane_threads = parts * threads_x;
    static_assert(Slices * Threads == plane_threads * (KPerBlock / Layout::k1), "the blocks cover the tile exactly");

    using GlobalVector = Vec<T, column_vector>;
    using LdsVector = Vec<T, RowVector>;
    struct Registers {
        GlobalVector data[Slices][RowVector];
    };

    // Tile row of the first element of a slice, and tile column.
    static CKGEN_HD constexpr int row_of(int thread, int slice) {
        const int block = slice * Threads + thread;
        return block / plane_threads * Layout::k1 + block % parts * RowVector;
    }
    static CKGEN_HD constexpr int column_of(int thread, int slice) {
        const int block = slice * Threads + thread;
        return block / parts % threads_x * column_vector;
    }

    // LDS byte of a thread's slice 0, element 0; the rest are compile-time offsets where a plane divides the threads.
    static CKGEN_HD constexpr int lds_byte(int thread, int slice) {
        const int row = row_of(thread, slice);
        return Layout::byte_of(row / Layout::k1, Layout::slot_of_column(column_of(thread, slice))) +
               row % Layout::k1 * static_cast<int>(sizeof(T));
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Slices; ++slice) {
            // Whole planes between slices: the compiler sees slice 0's address plus a constant.
            const int byte = lds_base + (Threads % plane_threads == 0
                                             ? lds_byte(id, 0) + slice * (Threads / plane_threads) * Layout::plane_bytes
                                             : lds_byte(id, slice));
            CKGEN_UNROLL
            for(int column = 0; column < column_vector; ++column) {
                LdsVector line;
                CKGEN_UNROLL
                for(int row = 0; row < RowVector; ++row)
                    line[row] = registers.data[slice][row][column];
                thread.lds_store(byte + column * Layout::group_threads * Layout::slot_bytes, line);
            }
        }
    }
};

}  // namespace ckgen::block
