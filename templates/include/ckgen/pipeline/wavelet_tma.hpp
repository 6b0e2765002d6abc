// Family wavelet_tma: Hopper's wavelet. The load role is one warp that issues bulk tensor copies, dOut as a matrix and
// the input in im2col order, into a ring of stages; the math role is warpgroups on wgmma that read both operands where
// the copies put them. Full and empty mbarriers guard each stage, so that neither role ever waits for the other's code.
// Workgroups are persistent: each takes every grid_size-th unit of the schedule, and the ring runs on from one to the
// next. Partials are added up by all workgroups together once all have been written.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/conv/bwd_weight_view.hpp"
#include "ckgen/epilogue/wgmma_partials.hpp"
#include "ckgen/platform/copy_engine.hpp"

namespace ckgen::pipeline {

struct WaveletTmaArgs {
    platform::TensorMap out, in;
    conv::BwdWeightArgs problem;
    int32 out_group_columns, in_group_channels;
    int32 advance[conv::kMaxDims + 1];  // k_per_block rows of GEMM-K as output positions, innermost first, and images
};

template <class D>
struct WaveletTmaKernel {
    using Args = WaveletTmaArgs;
    using T = typename D::Out;
    using Wei = typename D::Wei;
    using Partials = epilogue::WgmmaPartials<D>;
    static constexpr int ndim = D::Layout::ndim;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr int rows_per_copy = D::k_per_block;
    static constexpr int block_bytes = D::k_per_block * 128;  // 64 columns of a stage
    static constexpr int a_blocks = D::m_per_block / 64;
    static constexpr int b_blocks = D::n_per_block / 64;
    // Two math warpgroups with 128 accumulators each need more registers than an even share.
    static constexpr bool moves_registers = D::warpgroups == 2 && D::n_per_block == 256;

    // Where a stage and its barriers lie in shared memory.
    struct Ring {
        uint32 base;
        int stage = 0;
        int parity = 0;

        CKGEN_DEVICE uint32 data() const { return base + static_cast<uint32>(stage * D::lds_stage_bytes); }
        CKGEN_DEVICE uint32 full() const {
            return base + D::stages * D::lds_stage_bytes + static_cast<uint32>(stage) * 16;
        }
        CKGEN_DEVICE uint32 empty() const { return full() + 8; }
        CKGEN_DEVICE void next() {
            if(++stage == D::stages) {
                stage = 0;
                parity ^= 1;
            }
        }
    };

    // One warp, whose lanes all do the same, so that the compiler keeps what they compute in uniform registers, where
    // the copy engine takes it from; one lane issues the copies. A lane alone would take longer for the code between
    // two copies than a small tile's copies take.
    struct LoadRole {
        static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, Ring ring) {
            const bool leader = platform::elect_lane(thread);
            const int units = args.problem.schedule.units();
            for(int u = static_cast<int>(thread.block_id()); u < units; u += static_cast<int>(thread.grid_size())) {
                const auto tile = conv::BwdWeightTile::of_unit<D>(args.problem, u);
                Column columns[b_blocks];
                CKGEN_UNROLL
                for(int j = 0; j < b_blocks; ++j)
                    columns[j].seek(args, tile, tile.n_first + j * 64);
                const int out_column = tile.group * args.out_group_columns + tile.m_first;
                Position position(args, tile.k_tile_first * D::k_per_block);
                for(int k = 0; k < tile.k_tiles; ++k, ring.next(), position.advance(args)) {
                    platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                    if(leader)
                        copy_tile(args, ring, out_column, columns, position);
                }
            }
        }

    private:
        // A tap and 64 channels of the input: the columns of one copy.
        struct Column {
            int channel;
            uint16 tap[ndim];

            CKGEN_DEVICE void seek(const Args& args, const conv::BwdWeightTile& tile, int column) {
                const conv::BwdWeightArgs& p = args.problem;
                int index = column / p.c;
                channel = tile.group * args.in_group_channels + column - index * p.c;
                for(int d = ndim - 1; d >= 0; --d) {
                    tap[ndim - 1 - d] = static_cast<uint16>(index % p.filter[d] * p.dilation[d]);
                    index /= p.filter[d];
                }
                if(index > 0)  // past the last column: past the last channel, which reads as zero
                    channel = 0x7fffff00;
            }
        };

        // A row of GEMM-K, and the input's coordinates under tap 0 there, innermost first. It moves on without a
        // division, which would take longer than a copy.
        struct Position {
            int row, image;
            int output[ndim], input[ndim];

            CKGEN_DEVICE Position(const Args& args, int first) : row(first), image(first) {
                CKGEN_UNROLL
                for(int i = 0; i < ndim; ++i) {
                    const int length = args.problem.out_length[ndim - 1 - i];
                    const int next = image / length;
                    output[i] = image - next * length;
                    image = next;
                }
                find_input(args.problem);
            }
            CKGEN_DEVICE void advance(const Args& args) {
                row += D::k_per_block;
                int carry = 0;
                CKGEN_UNROLL
                for(int i = 0; i < ndim; ++i) {
                    const int length = args.problem.out_length[ndim - 1 - i];
                    output[i] += args.advance[i] + carry;
                    carry = output[i] >= length ? 1 : 0;
                    output[i] -= carry != 0 ? length : 0;
                }
                image += args.advance[ndim] + carry;
                find_input(args.problem);
            }

        private:
            CKGEN_DEVICE void find_input(const conv::BwdWeightArgs& p) {
                CKGEN_UNROLL
                for(int i = 0; i < ndim; ++i)
                    input[i] = output[i] * p.stride[ndim - 1 - i] - p.pad[ndim - 1 - i];
            }
        };

        static CKGEN_DEVICE void copy_tile(const Args& args, const Ring& ring, int out_column,
                                           const Column (&columns)[b_blocks], const Position& position) {
            platform::mbarrier_expect(ring.full(), D::lds_stage_bytes);
            CKGEN_UNROLL
            for(int i = 0; i < a_blocks; ++i)
                platform::copy_box(ring.data() + i * block_bytes, args.out, ring.full(), out_column + i * 64,
                                   position.row);
            CKGEN_UNROLL
            for(int j = 0; j < b_blocks; ++j)
                platform::copy_pixels<ndim>(ring.data() + (a_blocks + j) * block_bytes, args.in, ring.full(),
                                            columns[j].channel, position.input, position.image, columns[j].tap);
        }
    };

    struct MathRole {
        // `warpgroup` has rows 64 * warpgroup of the tile, `id` counts its threads.
        static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, Ring ring, int warpgroup,
                                     int id) {
            const conv::BwdWeightArgs& p = args.problem;
            const conv::TileSchedule& schedule = p.schedule;
            const int block = static_cast<int>(thread.block_id());
            for(int u = block; u < schedule.units(); u += static_cast<int>(thread.grid_size())) {
                const auto tile = conv::BwdWeightTile::of_unit<D>(p, u);
                const bool direct = u < schedule.direct;
                float* const slot = Partials::slot(p, direct ? schedule.tail_units() + block : u - schedule.direct,
                                                   warpgroup * 128 + id);
                const bool keeps = Partials::has_rows(p, tile, warpgroup * 128 + id);
                float acc[D::n_per_block / 2];
                int k = 0;
                do {
                    const int left = tile.k_tiles - k;
                    const int end = k + (left < p.k_tiles_per_chunk ? left : p.k_tiles_per_chunk);
                    sum(ring, warpgroup, id, end - k, acc);
                    if(k > 0 && keeps)
                        Partials::add_to(thread, slot, acc);
                    k = end;
                    if(keeps && (!direct || k < tile.k_tiles))
                        Partials::keep(thread, slot, acc);
                } while(k < tile.k_tiles);
                if(direct)
                    write(thread, p, tile, warpgroup * 128 + id, acc);
            }
        }

    private:
        // acc = the products of the next k_tiles stages.
        static CKGEN_DEVICE void sum(Ring& ring, int warpgroup, int id, int k_tiles, float (&acc)[D::n_per_block / 2]) {
            CKGEN_UNROLL
            for(int i = 0; i < D::n_per_block / 2; ++i)
                acc[i] = 0.f;
            uint32 previous = 0;  // the empty barrier of the stage whose products may still run
            for(int k = 0; k < k_tiles; ++k, ring.next()) {
                platform::mbarrier_wait(ring.full(), ring.parity);
                atom::wgmma_fence();
                multiply(ring.data() + warpgroup * block_bytes, ring.data() + a_blocks * block_bytes, acc);
                atom::wgmma_commit();
                atom::wgmma_wait<1>();
                if(previous != 0 && id == 0)
                    platform::mbarrier_arrive(previous);
                previous = ring.empty();
            }
            atom::wgmma_wait<0>();
            if(previous != 0 && id == 0)
                platform::mbarrier_arrive(previous);
        }

        static CKGEN_DEVICE void multiply(uint32 a, uint32 b, float (&acc)[D::n_per_block / 2]) {
            CKGEN_UNROLL
            for(int k = 0; k < D::k_per_block / 16; ++k)
                atom::wgmma<T, D::n_per_block>(acc, atom::wgmma_descriptor(a + k * 2048, block_bytes),
                                               atom::wgmma_descriptor(b + k * 2048, block_bytes));
        }

        static CKGEN_DEVICE void write(const platform::Thread& thread, const conv::BwdWeightArgs& p,
                                       const conv::BwdWeightTile& tile, int id,
                                       const float (&acc)[D::n_per_block / 2]) {
            const epilogue::WgmmaStore<Wei> store(thread, p, tile, id);
            CKGEN_UNROLL
            for(int quad = 0; quad < D::n_per_block / 32; ++quad)
                store.put_quad(quad, &acc[16 * quad]);
        }
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const uint32 start = platform::lds_start();
        const Ring ring{(start + 1023u) & ~1023u};
        const int id = thread.thread_id();
        if(id == 0) {
            for(Ring each = ring; each.parity == 0; each.next()) {
                platform::mbarrier_init(each.full(), 1);
                platform::mbarrier_init(each.empty(), D::warpgroups);
            }
            platform::mbarrier_publish();
        }
        thread.barrier();
        // The barrier of the grid is in each branch: behind both, the load role's few registers would be all there are.
        const bool meets = platform::kGridBarrier && has_second_half(args);
        if(id < 128) {
            if constexpr(moves_registers)
                platform::give_registers<40>();
            if(thread.uniform(id / 32) == 0)
                LoadRole::run(thread, args, ring);
            if(meets)
                platform::grid_barrier();
        } else {
            if constexpr(moves_registers)
                platform::take_registers<232>();
            MathRole::run(thread, args, ring, id / 128 - 1, id % 128);
            if(meets) {
                platform::grid_barrier();
                second_half(args, thread);
            }
        }
    }

    // What all workgroups do when all have done the rest; see platform/kernel_traits.hpp.
    static CKGEN_HD bool has_second_half(const Args& args) { return args.problem.schedule.tail > 0; }
    static CKGEN_DEVICE void second_half(const Args& args, const platform::Thread& thread) {
        if(thread.thread_id() >= 128)
            Partials::finish(thread, args.problem, thread.thread_id() - 128);
    }
};

}  // namespace ckgen::pipeline
