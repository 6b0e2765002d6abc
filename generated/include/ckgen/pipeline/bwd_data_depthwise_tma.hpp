// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_depthwise_tma.hpp. Do not edit; run: ckgen generate
// Family depthwise_tma of backward data: groups of one channel on Hopper, stride 1, by multiply-adds. A workgroup has
// as many groups as fill 128 bytes of a position. It takes tiles of the input in turn (conv/depthwise_boxes.hpp). The
// load role copies the box of the output that a tile reads to shared memory; TMA fills the padding with zeros. A warp
// of the math role computes segments, k_per_block neighbouring positions of a row, with the weights in registers:
//   dIn[y][x] = sum over rows r and taps s of box[y + r][x + s] * weight[rows - 1 - r][taps - 1 - s]
#pragma once

#include "ckgen/conv/depthwise_boxes.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/pipeline/depthwise.hpp"
#include "ckgen/pipeline/stage_ring.hpp"

namespace ckgen::pipeline {

template <class D>
struct DepthwiseTmaBwdDataArgs {
    platform::TensorMap out;  // boxes of a tile
    typename D::KernelArgs problem;
    conv::DepthwiseBoxes boxes;
};

template <class D>
class DepthwiseTmaBwdDataKernel {
    static constexpr int vector = D::a_vector;  // groups of a lane
    static constexpr int rows = D::stages, taps = D::m_per_block, positions = D::k_per_block;
    static constexpr int window = positions + taps - 1;  // positions of a row of the box that a segment reads
    static constexpr int warps = D::block_size / 32;
    static constexpr int load_threads = D::launch_threads - D::block_size;
    static constexpr int pitch = conv::DepthwiseBoxes::pitch;
    // In shared memory after the ring: the weights of each group, as f32. An odd pitch puts those of neighbouring lanes
    // into different banks.
    static constexpr int filter = rows * taps, weight_pitch = filter | 1;
    static constexpr int ring_bytes = D::lds_bytes - D::n_per_block * weight_pitch * 4;
    static_assert(D::n_per_block == 32 * vector && D::n_per_block * D::elem_bytes == pitch, "a warp has all groups");

public:
    using Args = DepthwiseTmaBwdDataArgs<D>;
    using Problem = typename D::KernelArgs;
    using T = typename D::Out;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr conv::DepthwiseBoxLimits limits{D::n_per_block, taps, rows, positions, warps, ring_bytes};

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const StageRing ring = ring_of(args);
        const int id = thread.thread_id();
        if(id == 0) {
            ring.init(1, warps);
            platform::fence_mbarrier_init();
        }
        thread.barrier();
        platform::pdl_wait();
        if(id >= load_threads)
            DepthwiseTmaBwdDataKernel(args, thread, id - load_threads).compute(ring);
        else if(id == 0)
            load(args, ring, static_cast<int>(thread.block_id()));
    }

private:
    using Raw = typename RawValues<T, vector>::Type;
    using Wei = typename D::Wei;
    using Sums = float[positions][vector];

    // The stages follow each other from a multiple of 128 bytes on, which TMA writes. The barriers come last.
    static CKGEN_DEVICE StageRing ring_of(const Args& args) {
        const uint32 start = platform::lds_start();
        const uint32 barriers = static_cast<uint32>(ring_bytes - args.boxes.stages * StageRing::stage_barrier_bytes);
        return {(start + 127u) & ~127u, args.boxes.stage_bytes, args.boxes.stages, start + barriers};
    }

    static CKGEN_DEVICE void load(const Args& args, StageRing ring, int first) {
        const conv::DepthwiseBoxes& boxes = args.boxes;
        for(int number = first; number < boxes.tiles; number += boxes.workgroups, ring.next()) {
            const conv::DepthwiseTile tile(boxes, number);
            platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
            platform::mbarrier_expect(ring.full(), boxes.stage_bytes);
            platform::tma_load_nd(ring.data(), args.out, ring.full(), tile.channel_block * D::n_per_block,
                                  tile.column + args.problem.pad[1] - (taps - 1),
                                  tile.row + args.problem.pad[0] - (rows - 1), tile.image);
        }
        platform::pdl_launch_dependents();
    }

    CKGEN_DEVICE DepthwiseTmaBwdDataKernel(const Args& args, const platform::Thread& thread, int id)
        : args_(args), thread_(thread), id_(id), warp_(thread.uniform(id / 32)), lane_(id % 32) {}

    CKGEN_DEVICE void compute(StageRing ring) {
        const conv::DepthwiseBoxes& boxes = args_.boxes;
        int channel_block = -1;
        for(int number = static_cast<int>(thread_.block_id()); number < boxes.tiles;
            number += boxes.workgroups, ring.next()) {
            const conv::DepthwiseTile tile(boxes, number);
            if(tile.channel_block != channel_block) {
                channel_block = tile.channel_block;
                load_weights(channel_block * D::n_per_block);
            }
            platform::mbarrier_wait(ring.full(), ring.parity);
            const int box = static_cast<int>(ring.data() - platform::lds_start()) + lane_ * (pitch / 32);
            for(int unit = warp_; unit < boxes.units; unit += warps)
                compute(tile, unit, box);
            platform::sync_warp();
            if(lane_ == 0)
                platform::mbarrier_arrive(ring.empty());
        }
    }

    // Loads the weights of the groups from `first` on to registers, in the order in which a position meets the box.
    // They pass through shared memory, because neighbouring lanes read neighbouring weights faster.
    CKGEN_DEVICE void load_weights(int first) {
        const typename D::KernelArgs& p = args_.problem;
        platform::barrier_of(1, D::block_size);  // all warps have read the weights before
        for(int i = id_; i < D::n_per_block * filter; i += D::block_size) {
            const int group = i / filter, tap = i % filter;
            const char* const source = p.wei + min_of(first + group, p.groups - 1) * p.wei_group_bytes +
                                       tap / taps * p.wei_stride_bytes[0] + tap % taps * p.wei_stride_bytes[1];
            thread_.lds_store(ring_bytes + (group * weight_pitch + filter - 1 - tap) * 4,
                              to_float(thread_.template global_load<Wei>(source)));
        }
        platform::barrier_of(1, D::block_size);
        group_ = first + lane_ * vector;
        CKGEN_UNROLL
        for(int e = 0; e < vector; ++e)
            CKGEN_UNROLL
        for(int tap = 0; tap < filter; ++tap)
            weights_[tap / taps][tap % taps][e] =
                thread_.template lds_load<float>(ring_bytes + ((lane_ * vector + e) * weight_pitch + tap) * 4);
    }

    // Computes segment `unit` of a tile. `box`: the byte of the lane's groups at the first position of the tile's box.
    CKGEN_DEVICE void compute(const conv::DepthwiseTile& tile, int unit, int box) const {
        const conv::DepthwiseBoxes& boxes = args_.boxes;
        const typename D::KernelArgs& p = args_.problem;
        const int line = boxes.by_segments.quotient(unit);
        const int image = boxes.by_rows.quotient(line);
        const int row = line - image * boxes.rows;
        const int column = (unit - line * boxes.segments) * boxes.length;
        const int count = min_of(boxes.length, min_of(boxes.columns, p.in_length[1] - tile.column) - column);
        if(count <= 0 || tile.row + row >= p.in_length[0] || tile.image + image >= p.images)
            return;
        Sums sums = {};
        int first = box + ((image * boxes.box_rows + row) * boxes.box_columns + column) * pitch;
        CKGEN_UNROLL
        for(int r = 0; r < rows; ++r, first += boxes.box_columns * pitch)
            add_row(first, weights_[r], sums);
        if(group_ < p.groups)
            write({group_, tile.image + image, 0, {tile.row + row, tile.column + column}}, count, sums);
    }

    CKGEN_DEVICE void add_row(int first, const float (&weights)[taps][vector], Sums& sums) const {
        Raw raw[window];
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i)
            raw[i] = thread_.template lds_load<Raw>(first + i * pitch);
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i) {
            float values[vector];
            to_floats<T, vector>(raw[i], values);
            CKGEN_UNROLL
            for(int s = 0; s < taps; ++s)
                CKGEN_UNROLL
            for(int e = 0; e < vector; ++e)
                if(i >= s && i - s < positions)
                    sums[max_of(min_of(i - s, positions - 1), 0)][e] += values[e] * weights[s][e];
        }
    }

    CKGEN_DEVICE void write(epilogue::InputPlace<2> at, int count, const Sums& sums) const {
        const typename D::KernelArgs& p = args_.problem;
        auto* target = reinterpret_cast<typename D::In*>(p.target) + epilogue::input_offset<D>(at, p.in);
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i, ++at.position[1], target += p.in.position[1]) {
            if(i >= count)
                break;
            const epilogue::FusedInputsOf<D, vector> inputs(thread_, p.d, at);
            epilogue::write_fused<D>(thread_, p.function, inputs, target, sums[i]);
        }
    }

    const Args& args_;
    const platform::Thread& thread_;
    const int id_, warp_, lane_;  // of the math role
    int group_ = 0;               // the lane's first
    float weights_[rows][taps][vector];
};

}  // namespace ckgen::pipeline
