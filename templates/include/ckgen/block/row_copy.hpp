// Global memory -> registers -> LDS for one operand's tile without transposing. RowCopy writes LdsRows as TileCopy
// writes LdsLayout. Neighbouring threads load neighbouring columns, then rows; a thread has one row of each slice.
#pragma once

#include "ckgen/block/lds_layout.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::block {

template <class T_, class Layout_, int KPerBlock, int Slices, int Threads, int Wave>
struct RowCopy {
    using T = T_;
    using Layout = Layout_;
    static constexpr int k_per_block = KPerBlock;
    static constexpr int rows = 1;
    static constexpr int slices = Slices;
    static constexpr int row_slices = Slices;
    static constexpr int thread_columns = 1;
    static constexpr int column_vector = Layout::vector;
    static constexpr int threads_x = Layout::columns / column_vector;
    static constexpr int slice_rows = Threads / threads_x;
    static_assert(Slices * slice_rows == KPerBlock && Threads % threads_x == 0, "the slices cover the tile exactly");
    static constexpr int wave_groups = runs_in_wave(Threads, threads_x, Wave);
    static constexpr int wave_size = Wave;

    using GlobalVector = Vec<uint32, column_vector* static_cast<int>(sizeof(T)) / 4>;
    struct Registers {
        GlobalVector data[Slices][1];
    };

    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   Registers& registers, int slice, int) {
        registers.data[slice][0] = window.template load<GlobalVector>(thread, offset);
    }

    static CKGEN_HD constexpr int row_of(int thread, int slice) { return thread / threads_x + slice * slice_rows; }
    static CKGEN_HD constexpr int column_of(int thread, int = 0) { return thread % threads_x * column_vector; }
    static CKGEN_HD constexpr int wave_row(int thread) { return row_of(thread / Wave * Wave, 0); }
    static CKGEN_HD constexpr int group_of(int thread) { return row_of(thread, 0) - wave_row(thread); }

    // If slices are whole planes, as in most tiles, their distance is constant.
    static CKGEN_HD constexpr int lds_byte(int thread, int slice) {
        constexpr bool planes = slice_rows % Layout::k1 == 0;
        const int row = row_of(thread, planes ? 0 : slice);
        return Layout::byte_of(row / Layout::k1, row % Layout::k1, column_of(thread)) +
               (planes ? slice * (slice_rows / Layout::k1) * Layout::plane_bytes : 0);
    }

    static CKGEN_DEVICE void store(const platform::Thread& thread, int lds_base, int id, const Registers& registers) {
        CKGEN_UNROLL
        for(int slice = 0; slice < Slices; ++slice)
            thread.lds_store(lds_base + lds_byte(id, slice), registers.data[slice][0]);
    }
};

}  // namespace ckgen::block
