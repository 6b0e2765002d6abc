// Copied by ckgen from templates/include/ckgen/atom/wmma_host.hpp. Do not edit; run: ckgen generate
// WMMA as the host executes it: by the lane maps of atom/wmma_lanes.hpp, those of gfx11 unless CKGEN_HOST_WMMA is 12.
#pragma once

#include "ckgen/atom/wmma_lanes.hpp"
#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::atom {

#if defined(CKGEN_HOST_WMMA)
inline constexpr int kWmmaGeneration = CKGEN_HOST_WMMA;
#else
inline constexpr int kWmmaGeneration = 11;
#endif

// The operands of one lane in the multiplication of its wave of 32.
template <class TA, class TB, int MR, int NR, int Generation>
struct WmmaLane {
    using Map = WmmaMap<Generation>;
    using Number = Sum<TA, TB>;
    static_assert(sizeof(TA) == sizeof(TB), "slots of A and B have the same rows of GEMM-K");
    static constexpr int k1 = 16 / static_cast<int>(sizeof(TA));
    static constexpr int depth = Map::planes * k1;

    const WmmaFragment<TA, Generation>* a;
    const WmmaFragment<TB, Generation>* b;
    Accumulator<16, TA, TB, 32>* acc;
    platform::Site site;

    static void execute(void* const* lanes) {
        Number rows[MR * 16][depth];
        Number columns[NR * 16][depth];
        for(int lane = 0; lane < 32; ++lane) {
            gather(lanes, lane, &WmmaLane::a, Map::a_row(lane), rows);
            gather(lanes, lane, &WmmaLane::b, Map::b_column(lane), columns);
        }
        for(int lane = 0; lane < 32; ++lane) {
            Accumulator<16, TA, TB, 32>* acc = of(lanes, lane).acc;
            for(int i = 0; i < MR; ++i)
                for(int j = 0; j < NR; ++j)
                    for(int r = 0; r < Map::registers; ++r)
                        acc[i * NR + j][r] +=
                            product(rows[i * 16 + Map::row(lane, r)], columns[j * 16 + Map::column(lane, r)]);
        }
    }

private:
    static const WmmaLane& of(void* const* lanes, int lane) { return *static_cast<const WmmaLane*>(lanes[lane]); }

    static Number product(const Number (&row)[depth], const Number (&column)[depth]) {
        Number sum = 0;
        for(int k = 0; k < depth; ++k)
            sum += row[k] * column[k];
        return sum;
    }

    // A lane's part of one operand, a line of each atom. On gfx11 the halves of a wave must hold the same.
    template <class T, int Lines>
    static void gather(void* const* lanes, int lane, const WmmaFragment<T, Generation>* WmmaLane::* operand, int line,
                       Number (&lines)[Lines][depth]) {
        for(int i = 0; i < Lines / 16; ++i)
            for(int e = 0; e < Map::slots * k1; ++e) {
                const auto element = (of(lanes, lane).*operand)[i][e];
                if(Map::slots == 2 && differ(element, (of(lanes, lane % 16).*operand)[i][e]))
                    throw platform::HostError("the halves of a wave give WMMA different operands at " +
                                              platform::text(of(lanes, lane).site));
                lines[i * 16 + line][Map::plane(lane) * k1 + e] = factor(element);
            }
    }
    template <class T>
    static bool differ(const T& x, const T& y) {
        return std::memcmp(&x, &y, sizeof(T)) != 0;
    }
};

template <class TA, class TB, int MR, int NR, int Generation = kWmmaGeneration>
void wmma_multiply(const platform::Thread&, const WmmaFragment<TA, Generation> (&a)[MR],
                   const WmmaFragment<TB, Generation> (&b)[NR], Accumulator<16, TA, TB, 32> (&acc)[MR][NR],
                   platform::Site site = platform::Site::here()) {
    WmmaLane<TA, TB, MR, NR, Generation> mine{a, b, &acc[0][0], site};
    platform::collective_of(32, &mine, &WmmaLane<TA, TB, MR, NR, Generation>::execute, site);
}

}  // namespace ckgen::atom
