// Copied by ckgen from templates/include/ckgen/atom/warp_mma_host.hpp. Do not edit; run: ckgen generate
// mma.sync m16n8k16 and m16n8k8 as the host executes them: by the lane maps of atom/warp_mma_lanes.hpp.
#pragma once

#include "ckgen/atom/warp_mma_lanes.hpp"
#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::atom {

// The contribution of one lane to its warp's multiplication of K indices of GEMM-K.
template <class T, int K>
struct WarpLane {
    static constexpr int elements = IsSame<T, tf32_t>::value ? 1 : 2;  // of a register
    static constexpr int a_registers = K / (2 * elements), b_registers = K / (4 * elements);
    using OperandA = WarpOperandA<elements>;
    using OperandB = WarpOperandB<elements>;

    float* c;
    const uint32* a;
    const uint32* b;

    static void execute(void* const* lanes) {
        float rows[16][K];
        float columns[K][8];
        for(int lane = 0; lane < 32; ++lane) {
            const WarpLane& mine = *static_cast<const WarpLane*>(lanes[lane]);
            for(int r = 0; r < a_registers; ++r)
                for(int e = 0; e < elements; ++e)
                    rows[OperandA::row(lane, r)][OperandA::position(lane, r) + e] = element(mine.a[r], e);
            for(int r = 0; r < b_registers; ++r)
                for(int e = 0; e < elements; ++e)
                    columns[OperandB::position(lane, r) + e][OperandB::column(lane)] = element(mine.b[r], e);
        }
        if constexpr(elements == 2)  // registers of tf32 are loaded one by one, not by ldmatrix
            check(lanes, rows, columns);
        float product[16][8] = {};
        for(int row = 0; row < 16; ++row)
            for(int k = 0; k < K; ++k)
                for(int column = 0; column < 8; ++column)
                    product[row][column] += rows[row][k] * columns[k][column];
        for(int lane = 0; lane < 32; ++lane)
            for(int q = 0; q < 4; ++q)
                static_cast<const WarpLane*>(lanes[lane])->c[q] +=
                    product[WarpAccumulator::row(lane, q)][WarpAccumulator::column(lane, q)];
    }

private:
    static float element(uint32 bits, int e) {
        if constexpr(elements == 1)  // tensor cores ignore the other bits of tf32
            return __builtin_bit_cast(float, bits & ~0x1fffu);
        else
            return to_float(__builtin_bit_cast(Vec<T, 2>, bits)[e]);
    }
    // A position matters to one operand if the other has a value other than zero there.
    static void check(void* const* lanes, const float (&rows)[16][K], const float (&columns)[K][8]) {
        bool in_a[K] = {};
        bool in_b[K] = {};
        for(int k = 0; k < K; ++k) {
            for(int row = 0; row < 16; ++row)
                in_a[k] = in_a[k] || rows[row][k] != 0.f;
            for(int column = 0; column < 8; ++column)
                in_b[k] = in_b[k] || columns[k][column] != 0.f;
        }
        platform::Workgroup& group = platform::Workgroup::running();
        const int first = group.current() / 32 * 32;
        const WarpLane& mine = *static_cast<const WarpLane*>(lanes[0]);
        for(int r = 0; r < a_registers; ++r)
            group.matrix.use(first, mine.a + r, 1, in_b + OperandA::position(0, r));
        group.matrix.use(first, mine.b, b_registers, in_a);
    }
};

template <class T>
void mma_m16n8k16(float (&c)[4], const uint32 (&a)[4], const uint32* b, T,
                  platform::Site site = platform::Site::here()) {
    WarpLane<T, 16> mine{c, a, b};
    platform::collective_of(32, &mine, &WarpLane<T, 16>::execute, site);
}
// T: half_t or bhalf_t with two registers of `a` and one of `b`, or tf32_t with four and two.
template <class T>
void mma_m16n8k8(float (&c)[4], const uint32* a, const uint32* b, T, platform::Site site = platform::Site::here()) {
    WarpLane<T, 8> mine{c, a, b};
    platform::collective_of(32, &mine, &WarpLane<T, 8>::execute, site);
}

}  // namespace ckgen::atom
