// Family wavelet_tma: Hopper's wavelet. The load role is one thread that issues bulk tensor copies, dOut as a matrix
// and the input in im2col order, into a ring of stages; the math role is warpgroups on wgmma that read both operands
// where the copies put them. Full and empty mbarriers guard each stage, so that neither role ever waits for the other's
// code. Workgroups are persistent: each takes every grid_size-th tile, and the ring runs on from one tile to the next.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/conv/bwd_weight_view.hpp"
#include "ckgen/platform/copy_engine.hpp"

namespace ckgen::pipeline {

struct WaveletTmaArgs {
    platform::TensorMap out, in;
    conv::BwdWeightArgs problem;
    int32 tiles;  // m_tiles * n_tiles * groups * split_k
    int32 out_group_columns, in_group_channels;
};

template <class D>
struct WaveletTmaKernel {
    using Args = WaveletTmaArgs;
    using T = typename D::Out;
    using Wei = typename D::Wei;
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

    struct LoadRole {
        static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, Ring ring) {
            for(int t = static_cast<int>(thread.block_id()); t < args.tiles;
                t += static_cast<int>(thread.grid_size())) {
                const auto tile = conv::BwdWeightTile::of_block<D>(args.problem, static_cast<uint32>(t));
                Column columns[b_blocks];
                for(int j = 0; j < b_blocks; ++j)
                    columns[j].seek(args, tile, tile.n_first + j * 64);
                for(int k = 0; k < tile.k_tiles; ++k, ring.next()) {
                    platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                    platform::mbarrier_expect(ring.full(), D::lds_stage_bytes);
                    copy_tile(args, ring, tile, (tile.k_tile_first + k) * D::k_per_block, columns);
                }
            }
            platform::let_next_kernel_begin();  // earlier, its workgroups would crowd on idle units
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

        static CKGEN_DEVICE void copy_tile(const Args& args, const Ring& ring, const conv::BwdWeightTile& tile, int row,
                                           const Column (&columns)[b_blocks]) {
            for(int i = 0; i < a_blocks; ++i)
                platform::copy_box(ring.data() + i * block_bytes, args.out, ring.full(),
                                   tile.group * args.out_group_columns + tile.m_first + i * 64, row);
            const conv::BwdWeightArgs& p = args.problem;
            int position[ndim];
            for(int d = ndim - 1; d >= 0; --d) {
                const int next = row / p.out_length[d];
                position[ndim - 1 - d] = (row - next * p.out_length[d]) * p.stride[d] - p.pad[d];
                row = next;
            }
            for(int j = 0; j < b_blocks; ++j)
                platform::copy_pixels<ndim>(ring.data() + (a_blocks + j) * block_bytes, args.in, ring.full(),
                                            columns[j].channel, position, row, columns[j].tap);
        }
    };

    struct MathRole {
        // `warpgroup` has rows 64 * warpgroup of the tile, `id` counts its threads.
        static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, Ring ring, int warpgroup,
                                     int id) {
            for(int t = static_cast<int>(thread.block_id()); t < args.tiles;
                t += static_cast<int>(thread.grid_size())) {
                const auto tile = conv::BwdWeightTile::of_block<D>(args.problem, static_cast<uint32>(t));
                float acc[D::n_per_block / 2];
                int k = 0;
                do {
                    const int left = tile.k_tiles - k;
                    const int end = k + (left < args.problem.k_tiles_per_chunk ? left : args.problem.k_tiles_per_chunk);
                    const bool first = k == 0;
                    sum(ring, warpgroup, id, end - k, acc);
                    k = end;
                    write(thread, args.problem, tile, warpgroup, id, first, acc);
                } while(k < tile.k_tiles);
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

        // Stores the tile, or adds it to the partials that an earlier chunk of it stored: a thread always has the same
        // elements.
        static CKGEN_DEVICE void write(const platform::Thread& thread, const conv::BwdWeightArgs& p,
                                       const conv::BwdWeightTile& tile, int warpgroup, int id, bool first,
                                       float (&acc)[D::n_per_block / 2]) {
            if(p.partial == nullptr) {
                Wei* target = reinterpret_cast<Wei*>(p.wei) + tile.group * p.wei_group_elements;
                each_pair(p, tile, warpgroup, id, target, [&](int i, Wei* pair) {
                    thread.global_store(pair, Vec<Wei, 2>{Convert<Wei>::from(acc[i]), Convert<Wei>::from(acc[i + 1])});
                });
                return;
            }
            float* target = p.partial + (static_cast<int64>(tile.split) * p.groups + tile.group) * p.wei_group_elements;
            if(!first)
                each_pair(p, tile, warpgroup, id, target, [&](int i, const float* pair) {
                    const auto before = thread.template global_load<Vec<float, 2>>(pair);
                    acc[i] += before[0];
                    acc[i + 1] += before[1];
                });
            each_pair(p, tile, warpgroup, id, target,
                      [&](int i, float* pair) { thread.global_store(pair, Vec<float, 2>{acc[i], acc[i + 1]}); });
        }

        // Calls use(i, address) for each pair of accumulators whose elements of the weight exist. N is a multiple of
        // 64, as C is, so that one comparison does for 64 columns, and addresses differ by constants: code that runs
        // once a tile is fetched from memory each time.
        template <class Target, class Use>
        static CKGEN_DEVICE void each_pair(const conv::BwdWeightArgs& p, const conv::BwdWeightTile& tile, int warpgroup,
                                           int id, Target* target, const Use& use) {
            const int row = tile.m_first + warpgroup * 64 + atom::WgmmaAccumulator::row(id, 0);
            target += static_cast<int64>(row) * p.n + tile.n_first + atom::WgmmaAccumulator::column(id, 0);
            CKGEN_UNROLL
            for(int half = 0; half < 2; ++half) {
                Target* line = target + static_cast<int64>(8 * half) * p.n;
                CKGEN_UNROLL
                for(int block = 0; block < b_blocks; ++block)
                    if(row + 8 * half < p.m && tile.n_first + 64 * block < p.n) {
                        CKGEN_UNROLL
                        for(int pair = 0; pair < 8; ++pair)
                            use(4 * (8 * block + pair) + 2 * half, line + 64 * block + 8 * pair);
                    }
            }
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
        if(id < 128) {
            if constexpr(moves_registers)
                platform::give_registers<40>();
            if(id == 0)
                LoadRole::run(thread, args, ring);
        } else {
            if constexpr(moves_registers)
                platform::take_registers<232>();
            MathRole::run(thread, args, ring, id / 128 - 1, id % 128);
        }
    }
};

}  // namespace ckgen::pipeline
