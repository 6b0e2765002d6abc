// Family wavelet_tma of backward weight for channels-last tensors of 16 bits whose channels may have any number. TMA
// copies from multiples of 16 bytes only; here the threads of the load role copy the aligned slots of 16 bytes around
// 64 channels of a position by cp.async, and shift these channels into the tile that TMA would fill. A warp shifts the
// rows that it has copied, so that warps need no barrier. See pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/load/shifted_slot.hpp"
#include "ckgen/pipeline/tma/wavelet_tma.hpp"
#include "ckgen/pipeline/tma/word_rows.hpp"

namespace ckgen::pipeline {

template <class D>
struct AnyRowsArgs {
    typename D::KernelArgs problem;
};

template <class D>
struct AnyRowsLoadRole {
    using Args = AnyRowsArgs<D>;

    static CKGEN_DEVICE void prefetch_maps(const Args&) {}
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const auto& p = args.problem;
        const AnyRowsLoadRole own(thread, args);
        int filled = 0, taken = 0;  // numbers of buffers
        const auto shift = [&](const TmaRing<D>& stage) {
            own.shift(stage, taken);
            taken = taken + 1 == buffers ? 0 : taken + 1;
        };
        WordStages<D> stages(ring);
        const conv::UnitRun run = tma_units<D>(thread, p.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const auto tile = conv::BwdWeightTile::of_unit<D>(p, u);
            const Operands operands(args, tile);
            int number = tile.k_tile_first * D::k_per_block + own.row_;
            Position positions[rows];
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i)
                positions[i] = Position(own.length_, number + i * row_step);
            if(u == run.first)
                platform::pdl_wait();
            for(int k = 0; k < tile.k_tiles; ++k, ring.next(), number += D::k_per_block) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                CKGEN_UNROLL
                for(int i = 0; i < rows; ++i) {
                    own.copy_row(operands, filled, i, number + i * row_step, positions[i]);
                    positions[i].advance(own.length_, own.on_);
                }
                filled = filled + 1 == buffers ? 0 : filled + 1;
                stages.add(thread, shift);
            }
        }
        stages.finish(thread, shift);
    }

private:
    static constexpr int ndim = D::Layout::ndim;
    static constexpr int slots = 8, row_step = 128 / slots, rows = D::k_per_block / row_step;  // of a thread
    static constexpr int a_boxes = D::m_per_block / 64, boxes = a_boxes + D::n_per_block / 64;
    static constexpr int pitch = TmaRing<D>::row_pitch;  // nine slots, and the shift
    static constexpr int buffers = D::row_buffers;
    static_assert(buffers == WordStages<D>::most + 1, "a buffer for each stage on its way");
    using Position = conv::Walk<ndim + 1>;  // an image, and an output position in it

    // Addresses of the operands of a unit, and the taps of the boxes of B.
    struct Operands {
        const char *out, *out_end, *in, *in_end;
        int channel[boxes - a_boxes];  // bytes
        int tap[boxes - a_boxes][ndim];

        CKGEN_DEVICE Operands(const Args& args, const conv::BwdWeightTile& tile) {
            const auto& p = args.problem;
            out = p.out + tile.group * p.out_group_bytes;
            out_end = out + p.out_extent_bytes;
            out += tile.m_first * 2;
            in = p.in + tile.group * p.in_group_bytes;
            in_end = in + p.in_extent_bytes;
            CKGEN_UNROLL
            for(int j = 0; j < boxes - a_boxes; ++j) {
                const int column = tile.n_first + j * 64;
                int index = column / p.tap_columns;
                channel[j] = (column - index * p.tap_columns) * 2;
                CKGEN_UNROLL
                for(int d = ndim - 1; d >= 0; --d) {
                    tap[j][d] = index % p.filter[d] * p.dilation[d] - p.pad[d];
                    index /= p.filter[d];
                }
                if(index > 0)  // past the last column
                    tap[j][0] = -(1 << 30);
            }
        }
    };

    CKGEN_DEVICE AnyRowsLoadRole(const platform::Thread& thread, const Args& args)
        : thread_(thread), args_(args), slot_(thread.thread_id() % slots), row_(thread.thread_id() / slots) {
        length_[0] = 0;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            length_[d + 1] = args.problem.out_length[d];
        on_ = Position(length_, D::k_per_block);
    }

    static CKGEN_DEVICE int buffer(int number) {
        return static_cast<int>(TmaRing<D>::buffers() - platform::lds_start()) + number * boxes * 64 * pitch;
    }
    // Copies the i-th of the thread's rows, row `number` of GEMM-K, to a buffer.
    CKGEN_DEVICE void copy_row(const Operands& operands, int filled, int i, int number, const Position& at) const {
        const auto& p = args_.problem;
        const bool there = number < p.k;
        int target = buffer(filled) + (row_ + i * row_step) * pitch;
        const char* const out = operands.out + number * int64{p.out_row_bytes};
        CKGEN_UNROLL
        for(int j = 0; j < a_boxes; ++j, target += 64 * pitch)
            copy(target, out + j * 128, there ? operands.out_end : nullptr);
        CKGEN_UNROLL
        for(int j = 0; j < boxes - a_boxes; ++j, target += 64 * pitch) {
            const char* in = operands.in + at.at[0] * p.in_image_bytes + operands.channel[j];
            bool inside = there;
            CKGEN_UNROLL
            for(int d = 0; d < ndim; ++d) {
                const int place = at.at[d + 1] * p.stride[d] + operands.tap[j][d];
                inside = inside && static_cast<uint32>(place) < static_cast<uint32>(p.in_length[d]);
                in += place * p.in_stride_bytes[d];
            }
            copy(target, in, inside ? operands.in_end : nullptr);
        }
    }
    // Copies the thread's slot of a row of 64 channels, which begin at `source`. `end`: of the tensor's group; slots
    // after it become zero.
    CKGEN_DEVICE void copy(int target, const char* source, const char* end) const {
        const auto address = reinterpret_cast<std::uintptr_t>(source);
        const auto shift = static_cast<uint32>(address % 16);
        const char* const first = source - shift + slot_ * 16;
        copy_slot(target + slot_ * 16, first, end);
        if(slot_ == slots - 1)
            copy_slot(target + slots * 16, first + 16, end);
        else if(slot_ == 0)
            thread_.lds_store(target + (slots + 1) * 16, shift / 2);
    }
    static CKGEN_DEVICE void copy_slot(int target, const char* source, const char* end) {
        const int64 left = end - source;
        platform::async_copy_part(platform::lds_start() + static_cast<uint32>(target), source,
                                  end == nullptr || left < 0 ? 0 : left < 16 ? static_cast<int>(left) : 16);
    }
    // Shifts the rows of a buffer that this warp has copied into their stage.
    CKGEN_DEVICE void shift(const TmaRing<D>& stage, int taken) const {
        const int to = static_cast<int>(stage.data() - platform::lds_start());
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i) {
            const int row = row_ + i * row_step;
            const int from = buffer(taken) + row * pitch;
            CKGEN_UNROLL
            for(int j = 0; j < boxes; ++j) {
                const int source = from + j * 64 * pitch;
                const auto low = thread_.template lds_load<Vec<uint32, 4>>(source + slot_ * 16);
                const auto high = thread_.template lds_load<Vec<uint32, 4>>(source + slot_ * 16 + 16);
                const auto shift = thread_.template lds_load<uint32>(source + (slots + 1) * 16);
                thread_.lds_store(to + (j * 64 + row) * 128 + (slot_ ^ (row & 7)) * 16,
                                  conv::shifted_slot(low, high, static_cast<int>(shift)));
            }
        }
    }

    const platform::Thread& thread_;
    const Args& args_;
    const int slot_, row_;
    int32 length_[ndim + 1];
    Position on_;  // from a tile of GEMM-K to the next
};
template <class D>
inline constexpr int load_arrivals<AnyRowsLoadRole<D>> = 4;

template <class D>
struct AnyRowsKernel : TmaRoles<D, WaveletTmaView<D, AnyRowsArgs<D>>, AnyRowsLoadRole<D>> {
    using T = typename D::ComputeA;
};

}  // namespace ckgen::pipeline
