// Copied by ckgen from templates/include/ckgen/block/direct_copy.hpp. Do not edit; run: ckgen generate
// Global memory -> LDS for one operand's tile through direct-to-LDS loads (kDirectLds). A lane loads 16 bytes, and the
// bytes of a wave are consecutive in LDS. The permutations of the layouts therefore apply to the global addresses: each
// lane loads what belongs to its place in LDS.
#pragma once

#include "ckgen/block/row_copy.hpp"

namespace ckgen::block {

// The destination of a wave's loads: the LDS byte of its first lane in slice 0.
struct DirectPlace {
    int first;
};

// By rows; it replaces RowCopy.

template <class T_, class Layout_, int KPerBlock, int Slices, int Threads, int Wave>
struct DirectCopy : RowCopy<T_, Layout_, KPerBlock, Slices, Threads, Wave> {
    using Rows = RowCopy<T_, Layout_, KPerBlock, Slices, Threads, Wave>;
    using Layout = Layout_;
    static constexpr int lane_bytes = Layout::vector * static_cast<int>(sizeof(T_));
    static constexpr int slice_bytes = Threads * lane_bytes;
    static_assert(lane_bytes == 16, "the width of a load to LDS");
    static_assert(Layout::plane_bytes == Layout::k1 * Layout::row_bytes, "rows one after the other, no padding");
    static_assert(Rows::slice_rows % Layout::moves_repeat_after == 0, "a thread has the same columns in every slice");

    using Registers = DirectPlace;
    static CKGEN_HD constexpr int column_of(int thread, int = 0) {
        const int byte = thread % Rows::threads_x * lane_bytes;
        return (byte ^ Layout::moved_by(Rows::row_of(thread, 0))) / static_cast<int>(sizeof(T_));
    }
    static CKGEN_HD constexpr int lds_byte(int thread, int slice) { return slice * slice_bytes + thread * lane_bytes; }
    static CKGEN_DEVICE Registers place(int lds_base, int wave_first) { return {lds_base + lds_byte(wave_first, 0)}; }

    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   const Registers& registers, int slice, int) {
        window.load_to_lds(thread, offset, registers.first + slice * slice_bytes);
    }
};

// By columns, for an operand that is contiguous along GEMM-K; it replaces SlotCopy. Neighbouring threads load the slots
// of a column, then columns; a thread has the same plane in each of its slices.
template <class T_, class Layout_, int KPerBlock, int Slices, int Threads>
struct DirectSlotCopy {
    using T = T_;
    using Layout = Layout_;
    static constexpr int k_per_block = KPerBlock;
    static constexpr int slices = Slices;
    static constexpr int parts = 1;
    static constexpr int vector = Layout::k1;
    static constexpr int slice_columns = Threads / Layout::planes;
    static constexpr int slice_bytes = Threads * Layout::slot_bytes;
    static_assert(vector * static_cast<int>(sizeof(T)) == Layout::slot_bytes, "the width of a load to LDS");
    static_assert(Layout::planes * Layout::k1 == KPerBlock && slice_columns * Slices == Layout::columns,
                  "the slots cover the tile");
    static_assert(slice_columns % Layout::moves_repeat_after == 0, "a thread has the same plane in every slice");

    using Registers = DirectPlace;
    static CKGEN_HD constexpr int column_of(int thread, int slice) {
        return thread / Layout::planes + slice * slice_columns;
    }
    static CKGEN_HD constexpr int row_of(int thread) {
        return (thread % Layout::planes ^ Layout::moved_by(column_of(thread, 0))) * Layout::k1;
    }
    static CKGEN_DEVICE Registers place(int lds_base, int wave_first) {
        return {lds_base + wave_first * Layout::slot_bytes};
    }

    template <class Window>
    static CKGEN_DEVICE void fetch(const platform::Thread& thread, const Window& window, uint32 offset,
                                   const Registers& registers, int slice, int) {
        window.load_to_lds(thread, offset, registers.first + slice * slice_bytes);
    }
};

}  // namespace ckgen::block
