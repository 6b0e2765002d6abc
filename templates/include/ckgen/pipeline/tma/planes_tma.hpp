// Family wavelet_tma of backward weight for pointwise filters and tensors with neighbouring positions side by side:
// both operands are K-major. GEMM-K has whole tiles per image, whose last one ends with zeros. See
// pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/pipeline/tma/tma_part_products.hpp"
#include "ckgen/pipeline/tma/tma_roles.hpp"
#include "ckgen/pipeline/tma/weight_tma_view.hpp"

namespace ckgen::pipeline {

template <class D>
struct PlanesTmaArgs {
    platform::TensorMap out, in;
    typename D::KernelArgs problem;
    int32 image_tiles;        // of GEMM-K per image
    int32 out_rows, in_rows;  // that TMA copies of a tile: those of the only tile of few channels
};

// As in pipeline/tma/wavelet_tma.hpp, all lanes of one warp compute the same, and one lane issues the copies.
template <class D>
struct PlanesTmaLoadRole {
    using Args = PlanesTmaArgs<D>;

    static CKGEN_DEVICE void prefetch_maps(const Args& args) {
        platform::prefetch_map(args.out);
        platform::prefetch_map(args.in);
    }
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const bool leader = platform::elect_lane(thread);
        const conv::UnitRun run = tma_units<D>(thread, args.problem.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const auto tile = conv::BwdWeightTile::of_unit<D>(args.problem, u);
            int image = tile.k_tile_first / args.image_tiles;
            int position = (tile.k_tile_first - image * args.image_tiles) * D::k_per_block;
            if(u == run.first)
                platform::pdl_wait();
            for(int k = 0; k < tile.k_tiles; ++k, ring.next()) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                if(leader)
                    copy_tile(args, ring, tile, position, image);
                position += D::k_per_block;
                if(position >= args.problem.out_positions) {
                    position = 0;
                    ++image;
                }
            }
        }
    }

private:
    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, const conv::BwdWeightTile& tile,
                                       int position, int image) {
        platform::mbarrier_expect(ring.full(), (args.out_rows + args.in_rows) * 128);
        platform::tma_load_nd(ring.data(), args.out, ring.full(), position, tile.m_first, tile.group, image);
        platform::tma_load_nd(ring.data() + D::m_per_block * 128, args.in, ring.full(), position, tile.n_first,
                              tile.group, image);
    }
};

template <class D, class KernelArgs = PlanesTmaArgs<D>>
struct PlanesTmaView : WeightTmaView<D, KernelArgs> {
    static constexpr bool a_in_registers = tma_multiplies_f32<D>;
    static constexpr bool has_products = tma_multiplies_f32<D>;
    using Products = PartProducts<D, atom::RowFragments, atom::KMajorColumns<D::n_per_block, D::block_size>>;
    static CKGEN_DEVICE constexpr int steps(const KernelArgs&) { return 4; }
    template <int Steps>
    static CKGEN_DEVICE void multiply(const platform::Thread&, uint32 a, uint32 b, float (&acc)[D::n_per_block / 2],
                                      bool accumulate) {
        using T = typename D::ComputeA;
        constexpr int step = D::k_per_block / 4;
        const atom::SwizzledTile<T, 64, D::k_per_block> a_tile(a);
        const atom::SwizzledTile<T, D::n_per_block, D::k_per_block> b_tile(b);
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma<T, D::n_per_block, atom::Major::k, atom::Major::k>(
                acc, a_tile.k_major_descriptor(step * k), b_tile.k_major_descriptor(step * k), accumulate || k > 0);
    }
};

template <class D>
struct PlanesTmaKernel : TmaRoles<D, PlanesTmaView<D>, PlanesTmaLoadRole<D>> {
    using T = typename D::ComputeA;
    using Roles = TmaRoles<D, PlanesTmaView<D>, PlanesTmaLoadRole<D>>;

    static CKGEN_DEVICE void run(const PlanesTmaArgs<D>& args, platform::Thread& thread) {
        if(args.out_rows < D::m_per_block || args.in_rows < D::n_per_block) {
            const int first = static_cast<int>(TmaRing<D>::first().data() - platform::lds_start());
            for(int stage = 0; stage < D::stages; ++stage) {
                const int a = first + stage * D::lds_stage_bytes, b = a + D::m_per_block * 128;
                clear(thread, a + args.out_rows * 128, b);
                clear(thread, b + args.in_rows * 128, b + D::n_per_block * 128);
            }
            platform::fence_proxy_async();
        }
        Roles::run(args, thread);
    }

private:
    // Sets the rows of a stage to zero that no copy writes.
    static CKGEN_DEVICE void clear(const platform::Thread& thread, int begin, int end) {
        for(int byte = begin + thread.thread_id() * 16; byte < end; byte += Roles::launch_threads * 16)
            thread.lds_store(byte, Vec<uint32, 4>{});
    }
};

}  // namespace ckgen::pipeline
