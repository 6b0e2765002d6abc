// Copied by ckgen from templates/include/ckgen/block/wave_mma.hpp. Do not edit; run: ckgen generate
// A wave's share of the tile product: fragments from LDS, matrix atoms, accumulators in registers.
#pragma once

#include "ckgen/atom/select.hpp"
#include "ckgen/block/lds_layout.hpp"

namespace ckgen::block {

// D: Derived<Config>. LayoutA, LayoutB: the operands' LdsLayout.
template <class D, class LayoutA, class LayoutB>
struct WaveMma {
    using T = typename D::Out;
    static constexpr int size = D::m_per_xdl;
    static constexpr int mr = D::m_xdl_per_wave;
    static constexpr int nr = D::n_xdl_per_wave;
    using Atom = atom::Select<T, size>;
    using Acc = atom::Accumulator<size>[mr][nr];
    static constexpr int planes = D::wave_size / size;
    static constexpr int steps = D::k_per_block / D::k_step;

    // First slot of this wave's atom i of A (j of B).
    static CKGEN_HD constexpr int a_slot(int wave, int i) { return (wave / D::n_waves * mr + i) * size; }
    static CKGEN_HD constexpr int b_slot(int wave, int j) { return (wave % D::n_waves * nr + j) * size; }

    static CKGEN_DEVICE void clear(Acc& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < mr; ++i)
            CKGEN_UNROLL
        for(int j = 0; j < nr; ++j)
            CKGEN_UNROLL
        for(int r = 0; r < Atom::Map::registers; ++r)
            acc[i][j][r] = 0.f;
    }

    // acc += A tile * B tile. `math_id` counts the math threads from 0; a_base and b_base are the tiles' LDS bytes.
    static CKGEN_DEVICE void run(const platform::Thread& thread, int math_id, int a_base, int b_base, Acc& acc) {
        const int wave = thread.uniform(math_id / D::wave_size);
        const int lane = math_id % D::wave_size;
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step)
            Atom::template step<T, LayoutA, LayoutB>(thread, lane,
                                                     a_base + LayoutA::byte_of(step * planes, a_slot(wave, 0)),
                                                     b_base + LayoutB::byte_of(step * planes, b_slot(wave, 0)), acc);
    }
};

}  // namespace ckgen::block
