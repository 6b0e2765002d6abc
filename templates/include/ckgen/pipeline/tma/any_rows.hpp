// Family wavelet_tma of backward weight for 1x1 filters and channels-last tensors of 16 bits with any number of
// channels. TMA copies from multiples of 16 bytes only; here the threads of the load role copy aligned slots of 16
// bytes by cp.async, one more per row than its channels would fill, and shift them into the tiles that TMA would fill.
// A warp shifts the rows that it has copied, so that warps need no barrier. See pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/load/shifted_slot.hpp"
#include "ckgen/pipeline/tma/wavelet_tma.hpp"
#include "ckgen/pipeline/tma/word_rows.hpp"

namespace ckgen::pipeline {

template <class D>
struct AnyRowsArgs {
    typename D::KernelArgs problem;
};

// Columns channels of an operand under the positions of a tile, for one thread of the load role: it has a slot of every
// 64 channels in every 16th row. Rows are an even number of bytes apart, so that all of the thread's rows begin equally
// far from a multiple of 16 bytes.
template <int Columns>
class AnyRows {
    static constexpr int slots = 8, row_step = 128 / slots, boxes = Columns / 64;
    static constexpr int rows = 64 / row_step;

public:
    static constexpr int pitch = Columns * 2 + 16;  // bytes from a row of a buffer to the next
    static constexpr int bytes = 64 * pitch;        // of a buffer

    CKGEN_DEVICE explicit AnyRows(const platform::Thread& thread)
        : thread_(thread), slot_(thread.thread_id() % slots), row_(thread.thread_id() / slots) {}

    // Begins at a tile whose first row is at `first`, `row_bytes` before the next. `end`: of the tensor's group.
    CKGEN_DEVICE void begin(const char* first, int row_bytes, const char* end) {
        first += row_ * int64{row_bytes};
        const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(first) % 16);
        shift_ = past / 2;
        source_ = first - past + slot_ * 16;
        step_ = int64{row_bytes} * row_step;
        end_ = end;
    }
    // Copies the next tile's rows to a buffer, of which `left` exist. Rows and slots that do not become zero.
    CKGEN_DEVICE void copy(int buffer, int left) {
        const char* const last = source_ + (rows - 1) * step_ + boxes * 128 + 16;
        if(left >= 64 && last <= end_)
            copy_rows<true>(buffer, left);
        else
            copy_rows<false>(buffer, left);
        source_ += rows * step_;
    }
    // Shifts the rows of a buffer that this warp has copied into a tile. `buffer`, `tile`: bytes of LDS.
    CKGEN_DEVICE void shift(int buffer, int tile) const {
        const int from = buffer + row_ * pitch + slot_ * 16;
        const int to = tile + row_ * 128 + (slot_ ^ (row_ & 7)) * 16;
        constexpr int together = 4;  // slots, whose loads do not wait for each other's stores
        CKGEN_UNROLL
        for(int first = 0; first < rows * boxes; first += together) {
            Vec<uint32, 4> low[together], high[together];
            CKGEN_UNROLL
            for(int n = 0; n < together; ++n) {
                const int slot = from + (first + n) / boxes * row_step * pitch + (first + n) % boxes * 128;
                low[n] = thread_.template lds_load<Vec<uint32, 4>>(slot);
                high[n] = thread_.template lds_load<Vec<uint32, 4>>(slot + 16);
            }
            CKGEN_UNROLL
            for(int n = 0; n < together; ++n)
                thread_.lds_store(to + ((first + n) % boxes * 64 + (first + n) / boxes * row_step) * 128,
                                  conv::shifted_slot(low[n], high[n], shift_));
        }
    }

private:
    template <bool Whole>
    CKGEN_DEVICE void copy_rows(int buffer, int left) const {
        const int target = buffer + row_ * pitch + slot_ * 16;
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i) {
            const char* const source = source_ + i * step_;
            const bool there = Whole || row_ + i * row_step < left;
            CKGEN_UNROLL
            for(int j = 0; j < boxes; ++j)
                copy_slot<Whole>(target + i * row_step * pitch + j * 128, source + j * 128, there);
            if(slot_ == 0)
                copy_slot<Whole>(target + i * row_step * pitch + boxes * 128, source + boxes * 128, there);
        }
    }
    template <bool Whole>
    CKGEN_DEVICE void copy_slot(int target, const char* source, bool there) const {
        int count = 16;
        if constexpr(!Whole) {
            const int64 left = end_ - source;
            count = !there || left < 0 ? 0 : left < 16 ? static_cast<int>(left) : 16;
        }
        platform::async_copy_part(platform::lds_start() + static_cast<uint32>(target), source, count);
    }

    const platform::Thread& thread_;
    const int slot_, row_;
    int shift_ = 0;  // elements
    int64 step_ = 0;
    const char *source_ = nullptr, *end_ = nullptr;
};

template <class D>
struct AnyRowsLoadRole {
    using Args = AnyRowsArgs<D>;
    using A = AnyRows<D::m_per_block>;
    using B = AnyRows<D::n_per_block>;

    static CKGEN_DEVICE void prefetch_maps(const Args&) {}
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, const TmaRing<D>& ring) {
        const auto& p = args.problem;
        A a(thread);
        B b(thread);
        int filled = 0, taken = 0;  // numbers of buffers
        const auto shift = [&](const TmaRing<D>& stage) {
            platform::mbarrier_wait(stage.empty(), stage.parity ^ 1);
            const int tile = static_cast<int>(stage.data() - platform::lds_start());
            a.shift(buffer(taken), tile);
            b.shift(buffer(taken) + A::bytes, tile + D::m_per_block * 128);
            taken = taken + 1 == buffers ? 0 : taken + 1;
        };
        WordStages<D, buffers - 1> stages(ring);
        const conv::UnitRun run = tma_units<D>(thread, p.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const auto tile = conv::BwdWeightTile::of_unit<D>(p, u);
            if(p.groups > 1)  // rows of another group may begin elsewhere in a slot
                stages.finish(thread, shift);
            const int row = tile.k_tile_first * D::k_per_block;
            const char* const out = p.out + tile.group * p.out_group_bytes;
            const char* const in = p.in + tile.group * p.in_group_bytes;
            a.begin(out + row * int64{p.out_row_bytes} + tile.m_first * 2, p.out_row_bytes, out + p.out_extent_bytes);
            b.begin(in + row * int64{p.in_row_bytes} + tile.n_first * 2, p.in_row_bytes, in + p.in_extent_bytes);
            if(u == run.first)
                platform::pdl_wait();
            for(int k = 0; k < tile.k_tiles; ++k) {
                const int left = p.k - row - k * D::k_per_block;
                a.copy(buffer(filled), left);
                b.copy(buffer(filled) + A::bytes, left);
                filled = filled + 1 == buffers ? 0 : filled + 1;
                stages.add(thread, shift);
            }
        }
        stages.finish(thread, shift);
    }

private:
    static constexpr int buffers = D::row_buffers;
    static_assert(A::bytes + B::bytes == TmaRing<D>::row_buffer_bytes && D::k_per_block == 64, "rows of a tile");

    static CKGEN_DEVICE int buffer(int number) {
        return static_cast<int>(TmaRing<D>::buffers() - platform::lds_start()) + number * (A::bytes + B::bytes);
    }
};
template <class D>
inline constexpr int load_arrivals<AnyRowsLoadRole<D>> = 4;

template <class D>
struct AnyRowsKernel : TmaRoles<D, WaveletTmaView<D, AnyRowsArgs<D>>, AnyRowsLoadRole<D>> {
    using T = typename D::ComputeA;
};

}  // namespace ckgen::pipeline
