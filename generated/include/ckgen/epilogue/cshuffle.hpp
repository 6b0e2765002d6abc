// Copied by ckgen from templates/include/ckgen/epilogue/cshuffle.hpp. Do not edit; run: ckgen generate
// Accumulators -> LDS -> coalesced stores. Four accumulator registers of every wave (a "chunk" of rows) go through LDS
// at a time, in two buffers, so that one barrier a chunk suffices.
#pragma once

#include "ckgen/atom/select.hpp"
#include "ckgen/conv/bwd_weight_loader.hpp"

namespace ckgen::epilogue {

template <class D>
struct CShuffle {
    static constexpr int size = D::m_per_xdl;
    using Atom = atom::Select<typename D::Out, size>;
    using Map = typename Atom::Map;
    using Acc = atom::Accumulator<size>[D::m_xdl_per_wave][D::n_xdl_per_wave];
    using Layouts = conv::BwdWeightLayouts<D>;
    static constexpr int chunks = Map::registers / 4;
    static constexpr int passes = D::m_xdl_per_wave * chunks;
    static constexpr int buffer_bytes = D::epilogue_rows * D::n_per_block * 4;
    static_assert(2 * buffer_bytes == D::lds_epilogue_bytes, "two buffers");

    // Waves without accumulators keep the barriers of run() company with this.
    static CKGEN_DEVICE void accompany(const platform::Thread& thread) {
        for(int pass = 0; pass < passes + 1; ++pass)
            thread.barrier();
    }

    // Writes the tile to wei, or as f32 to this split's slice of the partials. All math threads call it.
    static CKGEN_DEVICE void run(const platform::Thread& thread, int math_id, const conv::BwdWeightArgs& args,
                                 const conv::BwdWeightTile& tile, const Acc& acc) {
        thread.barrier();  // the main loop's LDS reads are over
        CKGEN_UNROLL
        for(int pass = 0; pass < passes; ++pass) {
            const int base = pass % 2 * buffer_bytes;
            put(thread, math_id, base, acc[pass / chunks], pass % chunks);
            thread.barrier();
            if(args.partial != nullptr) {
                const int64 slice =
                    (static_cast<int64>(tile.split) * args.groups + tile.group) * args.wei_group_elements;
                take(thread, math_id, base, pass, args, tile, args.partial + slice);
            } else {
                using Wei = typename D::Wei;
                take(thread, math_id, base, pass, args, tile,
                     reinterpret_cast<Wei*>(args.wei) + tile.group * args.wei_group_elements);
            }
        }
    }

private:
    // One chunk of a row of atoms, in slot order along N.
    static CKGEN_DEVICE void put(const platform::Thread& thread, int math_id, int base,
                                 const atom::Accumulator<size> (&row)[D::n_xdl_per_wave], int chunk) {
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

    template <class Target>
    static CKGEN_DEVICE void take(const platform::Thread& thread, int math_id, int base, int pass,
                                  const conv::BwdWeightArgs& args, const conv::BwdWeightTile& tile, Target* target) {
        constexpr int vectors = D::n_per_block / D::c_vector;
        constexpr int total = D::epilogue_rows * vectors;
        constexpr int rounds = ceil_div(total, D::block_size);
        CKGEN_UNROLL
        for(int round = 0; round < rounds; ++round) {
            const int index = round * D::block_size + math_id;
            const int line = index / vectors;
            const int column = index % vectors * D::c_vector;
            const int m = tile.m_first + row_of_line(pass, line);
            const int n = tile.n_first + column;
            if((total % D::block_size == 0 || index < total) && m < args.m && n < args.n)
                write(thread, base + line * D::n_per_block * 4, column, target + static_cast<int64>(m) * args.n + n);
        }
    }

    // The tile's row behind a line of the buffer: undo the deal of columns over slots that A's LDS layout made.
    static CKGEN_DEVICE int row_of_line(int pass, int line) {
        const int wave_row = line / Map::rows_per_chunk;
        const int slot = (wave_row * D::m_xdl_per_wave + pass / chunks) * size + pass % chunks * Map::rows_per_chunk +
                         line % Map::rows_per_chunk;
        return Layouts::A::column_of_slot(slot);
    }

    // Stores of at most 16 bytes that together write c_vector neighbouring elements.
    template <class Target>
    static CKGEN_DEVICE void write(const platform::Thread& thread, int line_base, int column, Target* target) {
        constexpr int width = min_of(D::c_vector, 16 / static_cast<int>(sizeof(Target)));
        CKGEN_UNROLL
        for(int first = 0; first < D::c_vector; first += width) {
            Vec<Target, width> values;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e] = Convert<Target>::from(
                    thread.lds_load<float>(line_base + Layouts::B::slot_of_column(column + first + e) * 4));
            thread.global_store(target + first, values);
        }
    }
};

}  // namespace ckgen::epilogue
