// Copied by ckgen from templates/include/ckgen/epilogue/plane_words.hpp. Do not edit; run: ckgen generate
// 32-bit results of a warpgroup whose rows have the order of atom/plane_fragments.hpp, in shared memory: each column of
// the product has two rows of 128 bytes, its 64 neighbouring results.
#pragma once

#include "ckgen/atom/plane_fragments.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::epilogue {

struct PlaneWords {
    // Byte of a slot of 16 bytes. Words are written by lanes of four pairs of columns at once.
    static CKGEN_HD constexpr int offset(int row, int slot) { return row * 128 + (slot ^ (row / 4 % 4)) * 16; }
    // Puts the results of Blocks times 8 columns from byte `lds` of shared memory on. `id` counts the threads of the
    // warpgroup; `result` is called with each sum.
    template <int Blocks, class Result>
    static CKGEN_DEVICE void put(const platform::Thread& thread, int lds, int id, const float* acc,
                                 const Result& result) {
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half) {
            const int row = atom::WgmmaAccumulator::column(id, 0) * 2 + atom::PlaneRows::box(id);
            const int word = lds + offset(row, atom::PlaneRows::slot(id, half)) + atom::PlaneRows::element(id) * 4;
            CKGEN_UNROLL
            for(int i = 0; i < 2 * Blocks; ++i)
                thread.lds_store(word + (i / 2 * 8 + i % 2) * 2 * 128, result(acc[i / 2 * 4 + half * 2 + i % 2]));
        }
    }
};

}  // namespace ckgen::epilogue
