// Copied by ckgen from templates/include/ckgen/pipeline/tma/any_planes.hpp. Do not edit; run: ckgen generate
// Family wavelet_tma of backward weight for pointwise filters and tensors of 32 bits with neighbouring positions side
// by side, whose images may have any number of positions: the threads of the load role copy single words
// (word_rows.hpp). A row of GEMM-K is a position of any image, so that only the last tile ends with zeros. See
// pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/pipeline/tma/planes_tma.hpp"
#include "ckgen/pipeline/tma/word_rows.hpp"

namespace ckgen::pipeline {

template <class D>
struct AnyPlanesArgs {
    typename D::KernelArgs problem;
    int32 images_on, positions_on;  // from a tile of GEMM-K to the next
};

template <class D>
struct AnyPlanesLoadRole {
    using Args = AnyPlanesArgs<D>;

    static CKGEN_DEVICE void prefetch_maps(const Args&) {}
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const auto& p = args.problem;
        const int warp = thread.uniform(thread.thread_id() / 32);
        const WordRows<D::m_per_block, 4> a(thread, warp);
        const WordRows<D::n_per_block, 4> b(thread, warp);
        const auto round = [&](const TmaRing<D>& stage) {
            if constexpr(!IsSame<typename D::ComputeA, tf32_t>::value)
                return;
            const int byte = static_cast<int>(stage.data() - platform::lds_start());
            a.round(byte);
            b.round(byte + D::m_per_block * 128);
        };
        WordStages<D> stages(ring);
        const conv::UnitRun run = tma_units<D>(thread, p.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const auto tile = conv::BwdWeightTile::of_unit<D>(p, u);
            const char* const out =
                p.out + tile.group * p.out_group_bytes + (tile.m_first + warp) * int64{p.out_channel_bytes};
            const char* const in =
                p.in + tile.group * p.in_group_bytes + (tile.n_first + warp) * int64{p.in_channel_bytes};
            Row row(args, tile.k_tile_first * D::k_per_block + thread.thread_id() % 32);
            if(u == run.first)
                platform::pdl_wait();
            for(int k = 0; k < tile.k_tiles; ++k, ring.next(), row.advance(args)) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                const bool there = row.number < p.k;
                a.copy(ring.data(), out + row.image * p.out_image_bytes + row.position * int64{p.out_row_bytes},
                       p.out_channel_bytes, there ? p.m - tile.m_first : 0);
                b.copy(ring.data() + D::m_per_block * 128,
                       in + row.image * p.in_image_bytes + row.position * int64{p.in_row_bytes}, p.in_channel_bytes,
                       there ? p.n - tile.n_first : 0);
                stages.add(thread, round);
            }
        }
        stages.finish(thread, round);
    }

private:
    // A row of GEMM-K, as a position of an image.
    struct Row {
        int number, image, position;

        CKGEN_DEVICE Row(const Args& args, int first)
            : number(first), image(first / args.problem.out_positions),
              position(first - image * args.problem.out_positions) {}
        CKGEN_DEVICE void advance(const Args& args) {
            number += D::k_per_block;
            image += args.images_on;
            position += args.positions_on;
            if(position >= args.problem.out_positions) {
                position -= args.problem.out_positions;
                ++image;
            }
        }
    };
};
template <class D>
inline constexpr int load_arrivals<AnyPlanesLoadRole<D>> = 4;

template <class D>
struct AnyPlanesKernel : TmaRoles<D, PlanesTmaView<D, AnyPlanesArgs<D>>, AnyPlanesLoadRole<D>> {
    using T = typename D::ComputeA;
};

}  // namespace ckgen::pipeline
