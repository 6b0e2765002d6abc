// Copied by ckgen from templates/include/ckgen/pipeline/halo/bwd_data_halo_shape.hpp. Do not edit; run: ckgen generate
// Values that the roles of family halo of backward data (pipeline/halo/bwd_data_halo.hpp) share: channels per warp,
// order of taps, addresses in shared memory.
#pragma once

#include "ckgen/conv/halo_taps.hpp"
#include "ckgen/pipeline/halo/halo_walk.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::pipeline {

template <class Problem>
struct HaloBwdDataArgs {
    platform::TensorMap out;  // boxes of a step's rows
    Problem problem;
    conv::HaloGeometry ring;
    conv::HaloTaps taps[2];
    int32 windows;         // of 64 channels
    int32 steps;           // of all images
    int32 shares;          // workgroups per window
    uint32 plane_inverse;  // 2^32 / plane, rounded up
};

// The taps in the order in which the positions of a cell use them.
template <int Stride>
CKGEN_HD constexpr int halo_tap(int slot) {
    return Stride == 1 ? slot : static_cast<int>(0x453718620 >> 4 * slot & 15);  // 0 2 6 8 1 7 3 5 4
}
CKGEN_HD constexpr int halo_tap(int slot, bool strided) { return strided ? halo_tap<2>(slot) : halo_tap<1>(slot); }
// Position `Index` of a cell. Positions are ordered by the taps that reach them: with stride 2 first the position of
// the four corner taps, then those of two taps one above the other, of two taps side by side, and of the middle tap.
template <int Stride, int Index>
struct HaloPosition {
    static constexpr int stride = Stride;
    static constexpr int first = Stride == 1 ? 0 : Index == 0 ? 0 : Index == 1 ? 4 : Index == 2 ? 6 : 8;
    static constexpr int count = Stride == 1 ? 9 : Index == 0 ? 4 : Index == 3 ? 1 : 2;
    static constexpr int tap = halo_tap<Stride>(first);
};

template <class D>
struct HaloBwdDataShape {
    using Args = HaloBwdDataArgs<typename D::KernelArgs>;
    static constexpr int side = conv::kHaloTaps;
    static constexpr int taps = side * side;
    static constexpr int elem_bytes = D::elem_bytes;
    static constexpr int window = conv::kHaloPitch / elem_bytes;  // channels per workgroup
    static constexpr int unit = 32;                               // channels per warp
    static constexpr int units = window / unit;
    static constexpr int channels = D::n_per_block;  // channels per group
    static constexpr int math_shares = D::block_size / 32 / units;
    static constexpr bool fused = D::d_tensors > 0;
    static constexpr int unit_groups = unit / channels;
    static constexpr int column_blocks = channels / 8;
    static constexpr int slot_channels = 16 / elem_bytes;  // rows of a matrix of weights, which has 8 columns
    static constexpr int group_slots = channels / slot_channels;
    static constexpr bool pairs_taps = group_slots == 1;  // two taps share an instruction
    static constexpr int unit_matrices = unit_groups * taps * column_blocks * group_slots;
    static constexpr int rounds = fused || unit_matrices > 100 || IsSame<typename D::ComputeA, float>::value
                                      ? 1
                                      : 2;  // blocks of 16 cells per warp, which do not wait for each other
    static constexpr int cells_at_once = rounds * 16;
    static constexpr int lane_channels = 8;  // of a cell's results, in runs of contiguous ones that are 64 bytes apart
    static constexpr int run_channels = fused ? lane_channels : slot_channels;
    static constexpr int runs = lane_channels / run_channels;
    static constexpr int zero_bytes = 1024;                  // zeros, used as the rest of the ring's first row
    static constexpr bool stages_weights = elem_bytes == 2;  // in shared memory, where ldmatrix transposes them
    static constexpr int weight_bytes = stages_weights ? units * unit_matrices * 128 : 0;
    // The more channels a group has, the longer the products of a step take while the next step is loaded. Lines of D
    // stay in the cache from step to step, so steps are short then.
    static constexpr int latency_kib = channels == 32 ? 48 : 96;
    static constexpr conv::HaloLimits limits{math_shares * cells_at_once,
                                             0,
                                             D::stages,
                                             D::lds_bytes - zero_bytes - weight_bytes,
                                             false,
                                             false,
                                             (fused ? 28 : 227) * 1024,
                                             latency_kib * 1024};

    // Number of the matrix, among those of a unit, with the weights of a group, a slot, 8 channels c and slot_channels
    // channels k. Matrices of one instruction are neighbours: those of 32 bytes of channels k, or of two taps if
    // pairs_taps.
    static CKGEN_DEVICE constexpr int matrix_of(int group, int slot, int column_block, int k_block) {
        if(pairs_taps && slot < taps - 1)
            return (slot / 2 * unit_groups + group) * 2 + slot % 2;
        if(pairs_taps)
            return slot * unit_groups + group;
        return ((group * taps + slot) * column_blocks + column_block) * group_slots + k_block;
    }

    static CKGEN_DEVICE uint32 bytes(int count) { return static_cast<uint32>(count); }

    // Addresses in shared memory, in this order: the ring of blocks, the weights, the barriers of the stages.
    struct Places {
        uint32 ring, weights;
        StageBarriers stages;

        CKGEN_DEVICE Places(const Args& args, uint32 base)
            : ring(base + zero_bytes), weights(ring + bytes(args.ring.ring_bytes)),
              stages{weights + weight_bytes, args.ring.stages} {}
    };

    // The share of a workgroup: a window of channels, and an even part of the steps of all images.
    struct Share : HaloShare {
        int window;

        CKGEN_DEVICE Share(const Args& args, uint32 block)
            : Share(args, block, static_cast<int>(block / bytes(args.windows))) {}

    private:
        CKGEN_DEVICE Share(const Args& args, uint32 block, int index)
            : HaloShare(args.ring, begin_of(args, index), begin_of(args, index + 1)),
              window(static_cast<int>(block) - index * args.windows) {}
        static CKGEN_DEVICE int begin_of(const Args& args, int index) {
            return static_cast<int>(static_cast<int64>(args.steps) * index / args.shares);
        }
    };
};

}  // namespace ckgen::pipeline
