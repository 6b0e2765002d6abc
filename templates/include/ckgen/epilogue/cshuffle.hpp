// Accumulators -> LDS -> coalesced stores. A "chunk" is the rows of four accumulator registers of every wave. Chunks go
// through two buffers in LDS in turn, so that one barrier per chunk suffices.
#pragma once

#include "ckgen/atom/select.hpp"

namespace ckgen::epilogue {

// The part of the tile that a pass puts into a buffer, and its layout there. LayoutA, LayoutB: layouts of the operands
// in LDS.
template <class D, class LayoutA, class LayoutB>
struct ShuffleShape {
    static constexpr int size = D::m_per_xdl;
    using Map = typename atom::AtomOf<D>::Map;
    static constexpr int chunks = Map::registers / 4;
    static constexpr int passes = D::m_xdl_per_wave * chunks;
    static constexpr int buffer_bytes = D::epilogue_rows * D::n_per_block * 4;
    static_assert(2 * buffer_bytes == D::lds_epilogue_bytes, "two buffers");

    // A thread takes c_vector neighbouring columns of a line at once.
    static constexpr int line_vectors = D::n_per_block / D::c_vector;
    static constexpr int vectors = D::epilogue_rows * line_vectors;
    static constexpr int rounds = ceil_div(vectors, D::block_size);
    static constexpr bool whole_rounds = vectors % D::block_size == 0;

    // True if rows are in LDS in the order of the tile, so that a line's rows are rows_per_chunk apart from pass to
    // pass.
    static constexpr bool in_order = LayoutA::by_rows || LayoutA::vector == 1;

    // The tile's row in a line of the buffer. It inverts the assignment of columns to slots in A's LDS layout.
    static CKGEN_DEVICE int row_of_line(int pass, int line) {
        const int wave_row = line / Map::rows_per_chunk;
        const int slot = (wave_row * D::m_xdl_per_wave + pass / chunks) * size + pass % chunks * Map::rows_per_chunk +
                         line % Map::rows_per_chunk;
        return LayoutA::column_of_slot(slot);
    }

    // The byte of column `column`, a multiple of c_vector, in line `line` of a buffer. The following columns of the
    // vector are at constant distances from it.
    static CKGEN_DEVICE int byte_of(int line, int column) {
        return (line * D::n_per_block + LayoutB::slot_of_column(column)) * 4;
    }
    static CKGEN_DEVICE typename D::Accumulator value(const platform::Thread& thread, int byte, int beside) {
        return thread.lds_load<typename D::Accumulator>(byte + LayoutB::slot_of_column(beside) * 4);
    }
    // The same for neighbouring lines of a column, which are neighbouring rows of the tile if A is in LDS in their
    // order.
    static CKGEN_DEVICE typename D::Accumulator value_below(const platform::Thread& thread, int byte, int below) {
        return thread.lds_load<typename D::Accumulator>(byte + below * D::n_per_block * 4);
    }

private:
    static constexpr bool constants_apart() {
        for(int column = 0; column < D::n_per_block; ++column)
            if(LayoutB::slot_of_column(column) != LayoutB::slot_of_column(column / D::c_vector * D::c_vector) +
                                                      LayoutB::slot_of_column(column % D::c_vector))
                return false;
        return true;
    }
    static_assert(constants_apart(), "a thread's columns are the same distances apart for every first column");
};

// Parts: types of the operation. Parts::Store takes the lines of all passes from LDS, in order.
template <class D, class Parts>
struct CShuffle {
    using Layouts = typename Parts::Loader::Layouts;
    using Shape = ShuffleShape<D, typename Layouts::A, typename Layouts::B>;
    using Map = typename Shape::Map;
    static constexpr int size = Shape::size;
    using Acc = atom::AccumulatorOf<D>[D::m_xdl_per_wave][D::n_xdl_per_wave];

    // Load waves call this to match the barriers in run().
    static CKGEN_DEVICE void accompany(const platform::Thread& thread) {
        for(int pass = 0; pass < Shape::passes + 1; ++pass)
            thread.barrier();
    }

    // Writes the tile, or with split_k the f32 partials of this split. All math threads call it.
    static CKGEN_DEVICE void run(const platform::Thread& thread, int math_id, const typename Parts::Args& args,
                                 const typename Parts::Tile& tile, const Acc& acc) {
        thread.barrier();  // the main loop's LDS reads are over
        typename Parts::template Store<Shape> store(thread, math_id, args, tile);
        CKGEN_UNROLL
        for(int pass = 0; pass < Shape::passes; ++pass) {
            const int base = pass % 2 * Shape::buffer_bytes;
            put(thread, math_id, base, acc[pass / Shape::chunks], pass % Shape::chunks);
            thread.barrier();
            store.take(thread, base, pass);
        }
    }

private:
    // Writes one chunk of a row of atoms to LDS, in slot order along N.
    static CKGEN_DEVICE void put(const platform::Thread& thread, int math_id, int base,
                                 const atom::AccumulatorOf<D> (&row)[D::n_xdl_per_wave], int chunk) {
        const int wave = thread.uniform(math_id / D::wave_size);
        const int lane = math_id % D::wave_size;
        CKGEN_UNROLL
        for(int j = 0; j < D::n_xdl_per_wave; ++j)
            CKGEN_UNROLL
        for(int r = 0; r < 4; ++r) {
            const int line =
                wave / D::n_waves * Map::rows_per_chunk + Map::row(lane, 4 * chunk + r) - chunk * Map::rows_per_chunk;
            const int slot = (wave % D::n_waves * D::n_xdl_per_wave + j) * size + Map::column(lane, r);
            thread.lds_store(base + (line * D::n_per_block + slot) * 4, row[j][4 * chunk + r]);
        }
    }
};

}  // namespace ckgen::epilogue
