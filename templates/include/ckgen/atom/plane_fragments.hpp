// Operand A of wgmma in tf32, which threads load to registers from an MN-major tile in shared memory: there,
// neighbouring rows of the product are side by side.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::atom {

// The positions of a thread's rows of the product among the warpgroup's 64. Their order lets the 32 lanes of a warp,
// eight rows by four positions of GEMM-K, load from all 32 banks: lanes with the same position of GEMM-K have two
// groups of four neighbouring positions, 64 bytes apart, and the swizzle separates the positions of GEMM-K by 16 bytes.
struct PlaneRows {
    // `half`: of the 16 rows of a warp.
    static CKGEN_HD constexpr int position(int thread, int half) {
        return box(thread) * 32 + slot(thread, half) * 4 + element(thread);
    }
    static CKGEN_HD constexpr int box(int thread) { return thread / 64 % 2; }  // of 32 positions, 128 bytes
    // 16 bytes of the box.
    static CKGEN_HD constexpr int slot(int thread, int half) {
        return thread % 32 / 16 * 4 + thread / 32 % 2 * 2 + half;
    }
    static CKGEN_HD constexpr int element(int thread) { return thread % 16 / 4; }  // of the slot
};

// Loads from two boxes of Rows positions of GEMM-K by 32 positions, which begin at shared-memory address `base`.
template <int Rows>
class PlaneFragments {
    using Box = SwizzledTile<float, Rows, 32>;

public:
    CKGEN_DEVICE PlaneFragments(const platform::Thread& thread, uint32 base) : thread_(thread) {
        const int id = thread.thread_id();
        const int first = static_cast<int>(base - platform::lds_start()) + PlaneRows::box(id) * Box::bytes;
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            byte_[i] =
                first + Box::offset(WgmmaFragment::k(id, i), PlaneRows::slot(id, i % 2)) + PlaneRows::element(id) * 4;
    }

    // Loads the fragments of Steps times eight positions of GEMM-K.
    template <int Steps>
    CKGEN_DEVICE void load(uint32 (&fragments)[Steps][4]) const {
        CKGEN_UNROLL
        for(int step = 0; step < Steps; ++step)
            load(fragments[step], step, 0);
    }
    // Loads the fragment of eight positions from boxes that are `bytes_on` further.
    CKGEN_DEVICE void load(uint32 (&fragment)[4], int step, int bytes_on) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            fragment[i] = thread_.template lds_load<uint32>(byte_[i] + bytes_on + step * 8 * 128);
    }

private:
    const platform::Thread& thread_;
    int byte_[4];
};

}  // namespace ckgen::atom
