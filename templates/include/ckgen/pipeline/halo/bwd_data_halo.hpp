// Family halo of backward data: 3x3 filters of groups with too few channels to fill a matrix tile, limited by memory
// bandwidth. A workgroup has 128 bytes of channels of the output, those of several groups. The load role, one thread,
// streams rows of the output through a ring in shared memory (conv/halo_geometry.hpp), where all nine taps read them.
// The weights of all taps stay in registers of the math role.
//   A[position][k] = dOut under a tap     B[k][c] = that tap's weights     D[position][c] = dIn
// A warp computes 32 channels and 16 cells (conv/halo_taps.hpp) at a time. A cell is all positions of the input that
// share their output positions: one with stride 1, four with stride 2. The warp writes whole rows of the input.
#pragma once

#include "ckgen/epilogue/fused_lines.hpp"
#include "ckgen/pipeline/halo/bwd_data_halo_math.hpp"

namespace ckgen::pipeline {

template <class D>
struct HaloBwdDataKernel {
    using Shape = HaloBwdDataShape<D>;
    using Args = typename Shape::Args;
    using Places = typename Shape::Places;
    using Share = typename Shape::Share;
    using Problem = typename D::KernelArgs;
    using T = typename D::ComputeA;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr int load_threads = D::launch_threads - D::block_size;
    static constexpr conv::HaloLimits limits = Shape::limits;
    static constexpr int window = Shape::window;
    static constexpr int channels = Shape::channels;
    static_assert(load_threads == 128 && D::block_size == 256, "registers move between whole warpgroups");

    struct LoadRole {
        static CKGEN_DEVICE void run(const Args& args, const Places& places, const Share& share) {
            const conv::HaloGeometry& g = args.ring;
            const int block_bytes = g.rows * g.plane * conv::kHaloPitch;
            HaloWalk walk(g, places.stages, share.first);
            for(int i = 0; i < share.count; ++i, walk.next(g)) {
                const uint32 full = walk.ring.full();
                platform::mbarrier_wait(walk.ring.empty(), walk.ring.parity ^ 1);
                platform::mbarrier_expect(full, block_bytes);
                platform::tma_load_nd(places.ring + Shape::bytes(walk.block * block_bytes), args.out, full,
                                      share.window * window, args.taps[1].first,
                                      walk.step * g.rows + args.taps[0].first, walk.image);
            }
            platform::pdl_launch_dependents();
        }
    };

    // Prefetches the D tensors of a step's cells into the cache while the previous step is multiplied. An earlier
    // prefetch would not last, because all workgroups share the cache.
    struct PrefetchRole {
        static CKGEN_DEVICE void run(const Args& args, const Places& places, const Share& share, int id, int threads) {
            HaloWalk walk(args.ring, places.stages, share.first);
            HaloWalk done(args.ring, places.stages, share.first);
            for(int i = 0; i < share.count; ++i, walk.next(args.ring)) {
                if(i >= 2) {
                    platform::mbarrier_wait(done.ring.empty(), done.ring.parity);
                    done.next(args.ring);
                }
                if(i >= share.before)
                    fetch(args, share, walk, id, threads);
            }
        }

    private:
        static CKGEN_DEVICE void fetch(const Args& args, const Share& share, const HaloWalk<StageBarriers>& walk,
                                       int id, int threads) {
            const conv::HaloGeometry& g = args.ring;
            const auto& p = args.problem;
            const int first_row = max_of(0, walk.step * g.rows - g.lead_rows) * p.stride[0];
            const int end = min_of((walk.step * g.rows - g.lead_rows + g.rows) * p.stride[0], p.in_length[0]);
            const int channel = share.window * window;
            const int there = min_of(window, p.groups * channels - channel);
            for(int row = first_row; row < end; ++row)
                for(int column = id; column < p.in_length[1]; column += threads) {
                    const epilogue::InputPlace<2> at{channel / channels, walk.image, channel % channels, {row, column}};
                    epilogue::FusedLines<typename D::DsDataType, typename D::DsLayout>::fetch(p.d, at, there, channels);
                }
        }
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const uint32 start = platform::lds_start();
        const uint32 base = (start + 1023u) & ~1023u;
        const Places places(args, base);
        const Share share(args, thread.block_id());
        const int id = thread.thread_id();
        if(id == 0) {
            places.stages.init(1, D::block_size / 32);
            platform::fence_mbarrier_init();
        }
        thread.barrier();
        platform::pdl_wait();
        if(id < load_threads) {
            platform::setmaxnreg_dec<40>();
            if(id == 0)
                LoadRole::run(args, places, share);
            if(Shape::fused && id >= 32)
                PrefetchRole::run(args, places, share, id - 32, load_threads - 32);
        } else {
            platform::setmaxnreg_inc<232>();
            const int math_id = id - load_threads;
            if(math_id < Shape::zero_bytes / 16)
                thread.lds_store(static_cast<int>(base - start) + math_id * 16, Vec<uint32, 4>{});
            if constexpr(Shape::stages_weights)
                HaloWeights<D>::stage(thread, args, places, share, math_id);
            platform::barrier_of(1, D::block_size);
            HaloBwdDataMath<D>(thread, args, places, share, math_id).run();
        }
    }
};

}  // namespace ckgen::pipeline
