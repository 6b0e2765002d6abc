// Copied by ckgen from templates/include/ckgen/block/wave_mma.hpp. Do not edit; run: ckgen generate
// A wave's share of the tile product: fragments from LDS, matrix atoms, accumulators in registers. The address of a
// lane's share is computed once; in the loop an LDS address is that address plus a constant.
#pragma once

#include "ckgen/atom/select.hpp"
#include "ckgen/block/lds_layout.hpp"

namespace ckgen::block {

// D: Derived<Config>. LayoutA, LayoutB: the operands' LdsLayout.
template <class D, class LayoutA, class LayoutB>
class WaveMma {
public:
    using T = typename D::Out;
    static constexpr int size = D::m_per_xdl;
    static constexpr int mr = D::m_xdl_per_wave;
    static constexpr int nr = D::n_xdl_per_wave;
    using Atom = atom::AtomOf<D>;
    using Acc = atom::Accumulator<size, D::wave_size>[mr][nr];
    static_assert(D::generic || atom::kMatrixUnit<D::matrix_unit>,
                  "[arch] there is no atom for this architecture's matrix unit, which all but generic instances need");
    static constexpr int planes = D::wave_size / size;
    static constexpr int steps = D::k_per_block / D::k_step;

    // `math_id` counts the math threads from 0.
    CKGEN_DEVICE WaveMma(const platform::Thread& thread, int math_id)
        : lane_(thread, math_id % D::wave_size, math_id / D::wave_size / D::n_waves * mr * size,
                math_id / D::wave_size % D::n_waves * nr * size) {}

    static CKGEN_DEVICE void clear(Acc& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < mr; ++i)
            CKGEN_UNROLL
        for(int j = 0; j < nr; ++j)
            CKGEN_UNROLL
        for(int r = 0; r < Atom::Map::registers; ++r)
            acc[i][j][r] = 0.f;
    }

    // acc += A tile * B tile, which begin at LDS bytes a_base and b_base.
    CKGEN_DEVICE void run(const platform::Thread& thread, int a_base, int b_base, Acc& acc) const {
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step)
            Atom::template step<T, LayoutA, LayoutB>(thread, lane_, a_base + step * planes * LayoutA::plane_bytes,
                                                     b_base + step * planes * LayoutB::plane_bytes, acc);
    }

    // Moves the LDS reads of all instructions since the last boundary, `Tiles` runs, ahead of their use.
    template <int Tiles>
    static CKGEN_DEVICE void order(const platform::Thread& thread) {
        Atom::template order<T, LayoutA, LayoutB, mr, nr, steps * Tiles>(thread);
        thread.schedule_boundary();
    }

private:
    typename Atom::template Lane<LayoutA, LayoutB, mr, nr> lane_;
};

}  // namespace ckgen::block
