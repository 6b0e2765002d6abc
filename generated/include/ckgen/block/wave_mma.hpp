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
    using TA = typename D::ComputeA;
    using TB = typename D::ComputeB;
    static constexpr int size = D::m_per_xdl;
    static constexpr int mr = D::m_xdl_per_wave;
    static constexpr int nr = D::n_xdl_per_wave;
    using Atom = atom::AtomOf<D>;
    using Acc = atom::AccumulatorOf<D>[mr][nr];
    static_assert(IsSame<atom::Sum<TA, TB>, typename D::Accumulator>::value,
                  "the data type names the type of the sums");
    static constexpr int planes = D::wave_size / size;
    static constexpr int steps = D::k_per_block / D::k_step;

    // `math_id` counts the math threads from 0.
    CKGEN_DEVICE WaveMma(const platform::Thread& thread, int math_id)
        : lane_(thread, math_id % D::wave_size, math_id / D::wave_size / D::n_waves * mr * size,
                math_id / D::wave_size % D::n_waves * nr * size) {
        static_assert(
            D::generic || atom::kMatrixUnit<D::matrix_unit>,
            "[arch] there is no atom for this architecture's matrix unit, which all but generic instances need");
    }

    static CKGEN_DEVICE void clear(Acc& acc) {
        CKGEN_UNROLL
        for(int i = 0; i < mr; ++i)
            CKGEN_UNROLL
        for(int j = 0; j < nr; ++j)
            CKGEN_UNROLL
        for(int r = 0; r < Atom::Map::registers; ++r)
            acc[i][j][r] = 0;
    }

    // acc += A tile * B tile, which begin at LDS bytes a_base and b_base.
    CKGEN_DEVICE void run(const platform::Thread& thread, int a_base, int b_base, Acc& acc) const {
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step)
            Atom::template step<TA, TB, LayoutA, LayoutB>(thread, lane_, a_base + step * planes * LayoutA::plane_bytes,
                                                          b_base + step * planes * LayoutB::plane_bytes, acc);
    }

    // The operands of a whole tile in registers, of atoms that read ahead. Element: TA, so that other atoms need none.
    template <class Element>
    struct Fragments {
        typename Atom::template Fragments<Element, TB, mr, nr> step[steps];
    };
    template <class Element>
    CKGEN_DEVICE void read(const platform::Thread& thread, int a_base, int b_base, Fragments<Element>& tile) const {
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step)
            Atom::template read<Element, TB, LayoutA, LayoutB>(
                thread, lane_, a_base + step * planes * LayoutA::plane_bytes,
                b_base + step * planes * LayoutB::plane_bytes, tile.step[step]);
    }
    template <class Element>
    CKGEN_DEVICE void multiply(const platform::Thread& thread, const Fragments<Element>& tile, Acc& acc) const {
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step)
            Atom::template product<Element, TB>(thread, tile.step[step], acc);
    }

    // As run(), with the waves in turns: all meet before each step, and a wave that multiplies goes before those that
    // still read.
    CKGEN_DEVICE void run_in_turns(const platform::Thread& thread, int a_base, int b_base, Acc& acc) const {
        CKGEN_UNROLL
        for(int step = 0; step < steps; ++step) {
            if(step > 0) {
                thread.schedule_boundary();
                thread.barrier();
                thread.schedule_boundary();
            }
            thread.template priority<1>();
            Atom::template step<TA, TB, LayoutA, LayoutB>(thread, lane_, a_base + step * planes * LayoutA::plane_bytes,
                                                          b_base + step * planes * LayoutB::plane_bytes, acc);
            thread.template priority<0>();
        }
        thread.schedule_boundary();
    }

    // Moves the LDS reads of all instructions since the last boundary, `Tiles` runs, ahead of their use.
    template <int Tiles>
    static CKGEN_DEVICE void order(const platform::Thread& thread) {
        Atom::template order<TA, TB, LayoutA, LayoutB, mr, nr, steps * Tiles>(thread);
        thread.schedule_boundary();
    }

private:
    typename Atom::template Lane<LayoutA, LayoutB, mr, nr> lane_;
};

}  // namespace ckgen::block
