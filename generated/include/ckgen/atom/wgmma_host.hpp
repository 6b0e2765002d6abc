// Copied by ckgen from templates/include/ckgen/atom/wgmma_host.hpp. Do not edit; run: ckgen generate
// wgmma as the host executes it: operands are read and checked at the addresses of the descriptors, and the matrix unit
// keeps the sums until a thread waits for them.
#pragma once

#include "ckgen/atom/wgmma_operands.hpp"
#include "ckgen/compute_types.hpp"
#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::atom {

inline void wgmma_fence() {
    platform::Workgroup& group = platform::Workgroup::running();
    group.matrix.fence(group.current());
}
inline void wgmma_commit() {
    platform::Workgroup& group = platform::Workgroup::running();
    group.matrix.commit(group.current());
}
template <int Pending>
void wgmma_wait(platform::Site site = platform::Site::here()) {
    platform::Workgroup& group = platform::Workgroup::running();
    group.matrix.wait(group.current(), Pending, site);
}

template <int N>
void wgmma_done(float (&)[N]) {}

// The contribution of one thread to its warpgroup's multiplication.
template <class T, int N, Major A, Major B>
struct WarpgroupThread {
    static constexpr int positions = 32 / static_cast<int>(sizeof(T));  // of GEMM-K

    float* d;
    uint64 a, b;
    const uint32* registers;  // of A, if it is not in shared memory
    int accumulate;
    platform::Site site;

    static void execute(void* const* threads) {
        platform::Workgroup& group = platform::Workgroup::running();
        const int first = group.current() / 128 * 128;
        const auto of = [&](int thread) -> const WarpgroupThread& {
            return *static_cast<const WarpgroupThread*>(threads[thread]);
        };
        for(int thread = 1; thread < 128; ++thread)
            if(of(thread).a != of(0).a || of(thread).b != of(0).b)
                throw platform::HostError("threads of a warpgroup give wgmma different descriptors at " +
                                          platform::text(of(0).site));
        group.matrix.issue(first, of(0).site);
        float a[positions][64];
        float b[positions][N];
        if(of(0).registers != nullptr)
            for(int i = 0; i < 128 * 4; ++i)
                a[WgmmaFragment::k(i / 4, i % 4)][WgmmaFragment::row(i / 4, i % 4)] =
                    multiplied(__builtin_bit_cast(float, of(i / 4).registers[i % 4]));
        else
            read<A>(group, first, of(0).a, a, of(0).site);
        read<B>(group, first, of(0).b, b, of(0).site);
        float product[64][N];
        for(int row = 0; row < 64; ++row) {
            float sums[N] = {};
            for(int k = 0; k < positions; ++k)
                for(int column = 0; column < N; ++column)
                    sums[column] += a[k][row] * b[k][column];
            for(int column = 0; column < N; ++column)
                product[row][column] = sums[column];
        }
        for(int thread = 0; thread < 128; ++thread) {
            float* sums = group.matrix.sums(first + thread, of(thread).d, N / 2);
            for(int i = 0; i < N / 2; ++i)
                sums[i] = (of(thread).accumulate ? sums[i] : 0.f) +
                          product[WgmmaAccumulator::row(thread, i)][WgmmaAccumulator::column(thread, i)];
        }
    }

private:
    // A number as the matrix unit reads it, which ignores the last 13 bits in tf32.
    static float multiplied(float x) {
        return IsSame<T, tf32_t>::value ? __builtin_bit_cast(float, __builtin_bit_cast(uint32, x) & ~0x1fffu) : x;
    }
    template <Major Order, int Columns>
    static void read(platform::Workgroup& group, int first, uint64 descriptor, float (&values)[positions][Columns],
                     platform::Site site) {
        if constexpr(Order == Major::k) {
            T elements[Columns][positions];
            group.matrix.read_rows(first, descriptor, Columns, reinterpret_cast<char*>(elements), site);
            for(int column = 0; column < Columns; ++column)
                for(int k = 0; k < positions; ++k)
                    values[k][column] = multiplied(to_float(elements[column][k]));
        } else {
            static_assert(sizeof(T) == 2, "operands of 16 bits");
            T elements[positions][Columns];
            group.matrix.read(first, descriptor, Columns, reinterpret_cast<uint16*>(elements), site);
            for(int k = 0; k < positions; ++k)
                for(int column = 0; column < Columns; ++column)
                    values[k][column] = to_float(elements[k][column]);
        }
    }
};

template <class T, int N, Major A = Major::mn, Major B = Major::mn>
void wgmma(float (&d)[N / 2], uint64 a, uint64 b, int accumulate = 1, platform::Site site = platform::Site::here()) {
    WarpgroupThread<T, N, A, B> mine{d, a, b, nullptr, accumulate, site};
    platform::collective_of(128, &mine, &WarpgroupThread<T, N, A, B>::execute, site);
}

template <int N>
void wgmma_of_registers(float (&d)[N / 2], const uint32 (&a)[4], uint64 b, int accumulate = 1,
                        platform::Site site = platform::Site::here()) {
    using Mine = WarpgroupThread<tf32_t, N, Major::k, Major::k>;
    Mine mine{d, 0, b, a, accumulate, site};
    platform::collective_of(128, &mine, &Mine::execute, site);
}

}  // namespace ckgen::atom
