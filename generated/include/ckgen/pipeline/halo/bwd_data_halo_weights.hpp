// Copied by ckgen from templates/include/ckgen/pipeline/halo/bwd_data_halo_weights.hpp. Do not edit; run: ckgen generate
// The weights of family halo of backward data (pipeline/halo/bwd_data_halo.hpp), which stay in registers of mma.sync.
#pragma once

#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/pipeline/halo/bwd_data_halo_shape.hpp"

namespace ckgen::pipeline {

// One lane's weights of all taps, for the channels of its warp. Columns of the matrix unit are permuted so that the
// channels of a lane become contiguous. Those of merged groups are zero between channels of different groups.
template <class D>
class HaloWeights {
    using Shape = HaloBwdDataShape<D>;
    using Args = typename Shape::Args;
    using Places = typename Shape::Places;
    using Share = typename Shape::Share;
    using T = typename D::ComputeA;
    static constexpr int side = Shape::side, taps = Shape::taps;
    static constexpr int window = Shape::window, channels = Shape::channels;
    static constexpr int unit_groups = Shape::unit_groups, column_blocks = Shape::column_blocks;
    static constexpr int group_slots = Shape::group_slots, unit_matrices = Shape::unit_matrices;
    static constexpr int own = channels / D::groups_to_merge;  // channels of a group before merging

public:
    // Copies the window's weights of 16 bits to shared memory, as matrices that ldmatrix transposes, in the order of
    // slots. `id` counts the threads that multiply, which all take part.
    static CKGEN_DEVICE void stage(const platform::Thread& thread, const Args& args, const Places& places,
                                   const Share& share, int id) {
        const auto& p = args.problem;
        const int base = static_cast<int>(places.weights - platform::lds_start());
        constexpr int chunks = window * taps * column_blocks;
        constexpr int turns = ceil_div(chunks, D::block_size);
        Vec<uint32, 4> pairs[turns];
        CKGEN_UNROLL
        for(int turn = 0; turn < turns; ++turn) {
            const Chunk at(turn * D::block_size + id);
            const int group = share.window * (window / channels) + at.group;
            pairs[turn] = Vec<uint32, 4>{};
            if(turn * D::block_size + id < chunks && group < p.groups)
                pairs[turn] = weights_of(thread, source(p, group, at.slot, at.k) + at.chunk * 16, at.k);
        }
        CKGEN_UNROLL
        for(int turn = 0; turn < turns; ++turn) {
            const Chunk at(turn * D::block_size + id);
            CKGEN_UNROLL
            for(int e = 0; e < 4; ++e) {
                const int pair = at.chunk * 4 + e;
                const int matrix = at.group / unit_groups * unit_matrices +
                                   Shape::matrix_of(at.group % unit_groups, at.slot, pair % column_blocks, at.k / 8);
                if(turn * D::block_size + id < chunks)
                    thread.lds_store(base + matrix * 128 + at.k % 8 * 16 + pair / column_blocks * 4, pairs[turn][e]);
            }
        }
    }

    // Reads this lane's weights: staged ones, or those of f32, which no instruction transposes, from global memory.
    CKGEN_DEVICE void load(const platform::Thread& thread, const Args& args, const Places& places, const Share& share,
                           int unit, int lane) {
        if constexpr(Shape::stages_weights) {
            const uint32 base = places.weights + static_cast<uint32>(unit * unit_matrices * 128 + lane * 16);
            CKGEN_UNROLL
            for(int i = 0; i < unit_matrices / 4; ++i)
                platform::load_matrices_transposed(base + static_cast<uint32>(i * 512), registers_[i]);
        } else {
            const int first_group = share.window * (window / channels) + unit * unit_groups;
            CKGEN_UNROLL
            for(int i = 0; i < unit_matrices; ++i)
                load_one(thread, args.problem, first_group, lane, i % group_slots, i / group_slots % column_blocks,
                         i / group_slots / column_blocks % taps, i / group_slots / column_blocks / taps);
        }
    }

    // The weights of slot_channels channels k and 8 channels c. The weights that the same instruction takes follow
    // them.
    CKGEN_DEVICE const uint32* at(int group, int slot, int column_block, int k_block) const {
        const int i = Shape::matrix_of(group, slot, column_block, k_block);
        return registers_[i / 4] + i % 4;
    }

private:
    // Eight channels c of a weight.
    struct Chunk {
        int chunk, slot, k, group;

        CKGEN_DEVICE explicit Chunk(int index)
            : chunk(index % column_blocks), slot(index / column_blocks % taps),
              k(index / (column_blocks * taps) % channels), group(index / (column_blocks * taps * channels)) {}
    };

    static CKGEN_DEVICE const char* source(const typename D::KernelArgs& p, int group, int slot, int k) {
        const int tap = halo_tap(slot, p.stride[0] == 2);
        return p.wei + group * p.wei_group_bytes + k * p.wei_k_bytes + tap / side * p.wei_stride_bytes[0] +
               tap % side * p.wei_stride_bytes[1];
    }
    // The weights of output channel k to eight input channels. Those of merged groups are zero but for the group of k,
    // whose weights are at `source`.
    static CKGEN_DEVICE Vec<uint32, 4> weights_of(const platform::Thread& thread, const char* source, int k) {
        if constexpr(kMergesGroups<D>) {
            const auto pairs = thread.template global_load<Vec<uint32, own / 2>>(source);
            Vec<uint32, 4> all{};
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                all[i] = i / (own / 2) == k / own ? pairs[i % (own / 2)] : 0;
            return all;
        } else {
            return thread.template global_load<Vec<uint32, 4>>(source);
        }
    }
    // A matrix of f32 is 4 channels k by 8 columns; lane l has row l % 4 of column l / 4.
    CKGEN_DEVICE void load_one(const platform::Thread& thread, const typename D::KernelArgs& p, int first_group,
                               int lane, int k_block, int column_block, int slot, int unit_group) {
        const int column = lane / 4, k = k_block * Shape::slot_channels + lane % 4;
        const int pair = Shape::runs == 2 && column_blocks == 1 ? column / 2 % 2 * 2 + column / 4
                                                                : column / 2 * column_blocks + column_block;
        const int c = 2 * pair + column % 2;
        const int group = first_group + unit_group;
        // Without a condition, so that no load waits for another.
        const auto value = thread.template global_load<float>(source(p, min_of(group, p.groups - 1), slot, k) +
                                                              c % own * static_cast<int>(sizeof(float)));
        const float used = group < p.groups && k / own == c / own ? value : 0.f;
        const int i = Shape::matrix_of(unit_group, slot, column_block, k_block);
        registers_[i / 4][i % 4] = atom::operand(__builtin_bit_cast(uint32, used), T{});
    }

    uint32 registers_[unit_matrices / 4][4];
};

}  // namespace ckgen::pipeline
