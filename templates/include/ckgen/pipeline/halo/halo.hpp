// Family halo of backward weight: 3x3 filters of groups with too few channels to fill a matrix tile, limited by memory
// bandwidth. A workgroup has 64 channels of the input, those of several groups, and all nine taps. The load role, one
// thread, streams rows of the input and the output through shared memory (conv/halo_geometry.hpp). In the math role
// each tap reads the same rows at another offset. The sums of all taps stay in registers until the workgroup's share of
// the images is complete.
//   A[channel][position] = In under a tap     B[position][channel] = dOut     D[c][k] = dWei of that tap
// Rows are as wide as the taps reach, so some positions have no output: B is zero there, and A is any value under the
// tap.
// An infinity or NaN in the input may therefore make NaN of more taps than those that it belongs to.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/bwd_weight_view.hpp"
#include "ckgen/pipeline/halo/halo_load.hpp"

namespace ckgen::pipeline {

template <class D>
struct HaloKernel {
    using Args = HaloArgs<D>;
    using T = typename D::Out;
    using Wei = typename D::Wei;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr int in_channels = 64;
    static constexpr int out_channels = D::out_pitch / 2;
    static constexpr conv::HaloLimits limits{D::k_per_block, D::out_pitch, D::stages, D::lds_bytes};
    static constexpr int barrier_bytes = D::stages * StageBarriers::stage_barrier_bytes;
    static constexpr int load_threads = D::launch_threads - D::block_size;
    static constexpr int side = conv::kHaloTaps;
    static constexpr int taps = side * side;
    static constexpr int merged = kGroupsToMerge<D>;
    // Eight channels are half of the atom's rows. Two taps then share an atom; the last tap uses both halves.
    static constexpr bool paired = D::n_per_block == 8;
    static constexpr int row_blocks = paired ? (taps + 1) / 2 : taps;
    static constexpr int column_blocks = D::m_per_block / 8;
    // True if the accumulators need more registers than an even share, so that setmaxnreg moves some from the load
    // role.
    static constexpr bool moves_registers = D::acc_registers > 112 && D::block_size == 256;
    // Swizzled rows of 64 channels of the input's positions, and of the output's.
    using Positions = atom::SwizzledRows<T, 64>;
    static_assert(Positions::pitch == conv::kHaloPitch && Positions::pitch == D::out_pitch, "both are swizzled alike");

    using Rings = HaloRings;

    // Each warp owns 16 input channels (8 channels and two taps where paired), all output columns, and every
    // `shares`-th group of 16 positions.
    class MathRole {
    public:
        CKGEN_DEVICE MathRole(const Args& args, const Rings& rings, int thread)
            : args_(args), rings_(rings), thread_(thread), lane_(thread % 32), unit_(thread / 32 % D::units),
              share_(thread / 32 / D::units) {
            const conv::BwdWeightArgs& p = args.problem;
            const int matrix = atom::MatrixRows::matrix(lane_);
            const int line = atom::MatrixRows::row(lane_);
            const int position = share_ * 16 + matrix / 2 * 8 + line;
            const int channel = (unit_ * D::unit_channels + (paired ? 0 : matrix % 2 * 8)) / 8;
            in_line_ = Rings::bytes(position * conv::kHaloPitch);
            second_ = paired && matrix % 2 != 0;
            const conv::HaloGeometry& g = args.rings;
            CKGEN_UNROLL
            for(int y = 0; y < side; ++y)
                row_shift_[y] = Rings::bytes(tap_shift(p, 0, y) * g.plane * conv::kHaloPitch);
            CKGEN_UNROLL
            for(int i = 0; i < row_blocks; ++i) {
                const int tap = paired ? min_of(2 * i + matrix % 2, taps - 1) : i;
                const int y = tap / side;
                const int x = tap % side;
                const int shift = tap_shift(p, 1, x);
                // A step's positions begin at a multiple of 8 minus lead_rows rows.
                const int line = position + shift + (tap_shift(p, 0, y) - g.lead_rows) * g.plane;
                tap_[i] = (tap_ring(p, 0, y) * p.stride[1] + tap_ring(p, 1, x)) * g.ring_bytes +
                          shift * Positions::pitch + Positions::slot_byte(line, channel);
            }
            // Matrices of B: positions 0-7 and 8-15 of eight columns, then those of the next eight columns.
            const int out_line = share_ * 16 + matrix % 2 * 8 + line;
            const int out_channel = unit_ * D::unit_channels / D::n_per_block * D::m_per_block / 8;
            CKGEN_UNROLL
            for(int j = 0; j < pairs; ++j) {
                const int block = 2 * j + 1 < column_blocks ? 2 * j + matrix / 2 : 2 * j;
                out_line_[j] = Rings::bytes(Positions::offset(out_line, out_channel + block));
            }
            CKGEN_UNROLL
            for(int i = 0; i < D::acc_registers; ++i)
                acc_[i / 4 / column_blocks][i / 4 % column_blocks][i % 4] = 0.f;
        }

        CKGEN_DEVICE void run(const platform::Thread& thread, const conv::BwdWeightTile& tile) {
            const conv::HaloGeometry& g = args_.rings;
            const HaloShare share(g, tile.k_tile_first, tile.k_tile_first + tile.k_tiles);
            HaloWalk walk(g, rings_.out, share.first);
            for(int i = 0; i < share.count; ++i, walk.next(g)) {
                platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);
                if(i >= share.before)
                    multiply(walk);
                platform::sync_warp();
                if(lane_ == 0)
                    platform::mbarrier_arrive(walk.ring.empty());
            }
            platform::barrier_of(1, D::block_size);  // the rings are free now
            spread(thread);
            platform::barrier_of(1, D::block_size);
            const conv::BwdWeightArgs& p = args_.problem;
            if(p.partial != nullptr)
                write<false>(thread, tile,
                             p.partial + static_cast<int64>(tile.split) * p.groups * p.wei_group_elements);
            else
                write<D::fused>(thread, tile, reinterpret_cast<Wei*>(p.wei));
        }

    private:
        static constexpr int pairs = (column_blocks + 1) / 2;
        // The products as f32 in shared memory: [share][group, k][tap][c]. Four additional floats per row put the four
        // columns that a warp stores at once into different banks.
        static constexpr int line_floats = taps * D::n_per_block;
        static constexpr int line_pitch = line_floats + 4;
        static constexpr int lines = out_channels;
        static_assert(D::shares * lines * line_pitch * 4 <= lds_bytes - barrier_bytes,
                      "the products of a workgroup fit its LDS");

        // The ring of a tap's row (d 0) or column (d 1), and its shift there.
        static CKGEN_DEVICE int tap_ring(const conv::BwdWeightArgs& p, int d, int i) {
            return i * p.dilation[d] % p.stride[d];
        }
        static CKGEN_DEVICE int tap_shift(const conv::BwdWeightArgs& p, int d, int i) {
            return i * p.dilation[d] / p.stride[d];
        }

        CKGEN_DEVICE void multiply(const HaloWalk<StageRing>& walk) {
            const conv::HaloGeometry& g = args_.rings;
            // The output rows of the step that exist, rounded outwards to the positions that all math warps process at
            // once.
            const int before = walk.step * g.rows - g.lead_rows;
            const int first = max_of(0, -before) * g.plane / D::k_per_block * D::k_per_block;
            const int last = min_of(g.rows, args_.problem.out_length[0] - before) * g.plane;
            int ring_row = walk.block * g.rows - g.lead_rows;
            ring_row += ring_row < 0 ? g.blocks * g.rows : 0;
            const auto ring_bytes = Rings::bytes(g.ring_bytes);
            uint32 in = in_line_ + Rings::bytes((ring_row * g.plane + first) * conv::kHaloPitch);
            uint32 out = walk.ring.data() + Rings::bytes(first * D::out_pitch);
            for(int i = first; i < last; i += D::k_per_block) {
                step(in < ring_bytes ? in : in - ring_bytes, out, ring_bytes);
                in += D::k_per_block * conv::kHaloPitch;
                out += D::k_per_block * D::out_pitch;
            }
        }

        // 16 positions: `in` is the lane's address in a ring, `out` the first row of B.
        CKGEN_DEVICE void step(uint32 in, uint32 out, uint32 ring_bytes) {
            uint32 b[pairs][4];
            CKGEN_UNROLL
            for(int j = 0; j < pairs; ++j)
                platform::load_matrices_transposed(out + out_line_[j], b[j]);
            uint32 rows[side];
            CKGEN_UNROLL
            for(int y = 0; y < side; ++y) {
                const uint32 place = in + row_shift_[y];
                rows[y] = rings_.in + (place < ring_bytes ? place : place - ring_bytes);
            }
            CKGEN_UNROLL
            for(int i = 0; i < row_blocks; ++i) {
                const int tap = paired ? 2 * i : i;
                const int next = min_of(tap + 1, taps - 1);
                const uint32 row = paired && second_ ? rows[next / side] : rows[tap / side];
                uint32 a[4];
                platform::load_matrices_transposed(row + static_cast<uint32>(tap_[i]), a);
                CKGEN_UNROLL
                for(int j = 0; j < column_blocks; ++j)
                    atom::mma_m16n8k16(acc_[i][j], a, b[j / 2] + j % 2 * 2, T{});
            }
        }

        CKGEN_DEVICE void spread(const platform::Thread& thread) const {
            const int channel = unit_ * D::unit_channels;
            const int group = channel / D::n_per_block;
            const int line = share_ * lines + group * D::m_per_block + atom::WarpAccumulator::column(lane_, 0);
            const int base = line * line_pitch + channel % D::n_per_block + atom::WarpAccumulator::row(lane_, 0);
            CKGEN_UNROLL
            for(int i = 0; i < row_blocks; ++i)
                CKGEN_UNROLL
            for(int j = 0; j < column_blocks; ++j)
                CKGEN_UNROLL
            for(int q = 0; q < 4; ++q) {
                const int tap = paired ? 2 * i + q / 2 : i;
                const int offset = (j * 8 + q % 2) * line_pitch + tap * D::n_per_block + (paired ? 0 : q / 2 * 8);
                if(tap < taps)
                    thread.lds_store((base + offset) * 4, acc_[i][j][q]);
            }
        }

        static CKGEN_DEVICE Vec<float, 4> sum_of_shares(const platform::Thread& thread, int address) {
            auto sum = thread.template lds_load<Vec<float, 4>>(address);
            CKGEN_UNROLL
            for(int s = 1; s < D::shares; ++s) {
                const auto more = thread.template lds_load<Vec<float, 4>>(address + s * lines * line_pitch * 4);
                for(int e = 0; e < 4; ++e)
                    sum[e] += more[e];
            }
            return sum;
        }

        // Adds the shares in order and writes four weights at a time.
        template <bool Fused, class Target>
        CKGEN_DEVICE void write(const platform::Thread& thread, const conv::BwdWeightTile& tile, Target* target) const {
            const typename D::KernelArgs& p = args_.problem;
            for(int i = thread_ * 4; i < lines * line_floats; i += D::block_size * 4) {
                const int line = i / line_floats;
                const int column = i - line * line_floats;
                const Vec<float, 4> sum = sum_of_shares(thread, (line * line_pitch + column) * 4);
                int group = tile.group + line / D::m_per_block * merged;
                int k = tile.m_first + line % D::m_per_block;
                int c = tile.n_first + column % D::n_per_block;
                int group_channels = p.c;
                if constexpr(merged > 1) {  // only the products of a group's own channels are weights
                    constexpr int own = D::n_per_block / merged;
                    if(k / own != c / own)
                        continue;
                    group += k / own;
                    group_channels = own;
                    k %= own;
                    c %= own;
                }
                if(group >= p.groups || k >= p.m || c >= p.c)
                    continue;
                const int tap = column / D::n_per_block;
                const int64 place =
                    group * p.wei_group_elements + (static_cast<int64>(k) * taps + tap) * group_channels + c;
                if constexpr(Fused) {
                    const epilogue::WeightPlace<2> at(p, group, k, tap, c);
                    const epilogue::FusedInputsOf<D, 4> inputs(thread, p.d, at);
                    epilogue::write_fused<D>(thread, p.function, inputs, target + place, sum.data);
                    continue;
                }
                Vec<Target, 4> result;
                for(int e = 0; e < 4; ++e)
                    result[e] = Convert<Target>::from(sum[e]);
                thread.global_store(target + place, result);
            }
        }

        const Args& args_;
        const Rings& rings_;
        const int thread_, lane_, unit_, share_;
        uint32 in_line_;  // this lane's row of A among those that the math warps process at once
        bool second_;     // true if it belongs to the second tap of a pair
        uint32 row_shift_[side];
        int tap_[row_blocks];  // bytes from a row under tap 0's column to the lane's 16 bytes under each tap
        uint32 out_line_[pairs];
        float acc_[row_blocks][column_blocks][4];
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const Rings rings(args, platform::lds_start(), lds_bytes);
        const auto tile = conv::BwdWeightTile::of_block<D>(args.problem, thread.block_id());
        const int id = thread.thread_id();
        // Bytes that no TMA load has written yet are multiplied by zeros of B, so they must not be NaN.
        for(int i = id; i < args.rings.lds_bytes / 16; i += launch_threads)
            thread.lds_store(i * 16, Vec<uint32, 4>{});
        thread.barrier();
        if(id == 0) {
            rings.out.init(1, D::block_size / 32);
            platform::fence_mbarrier_init();
        }
        platform::fence_proxy_async();
        thread.barrier();
        platform::pdl_wait();
        if(id < load_threads) {
            if constexpr(moves_registers)
                platform::setmaxnreg_dec<40>();
            if(id == 0)
                HaloLoadRole<D>::run(args, rings, tile);
        } else {
            if constexpr(moves_registers)
                platform::setmaxnreg_inc<232>();
            MathRole(args, rings, id - load_threads).run(thread, tile);
        }
    }
};

}  // namespace ckgen::pipeline
