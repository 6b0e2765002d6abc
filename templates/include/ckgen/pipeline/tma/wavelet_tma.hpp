// Family wavelet_tma of backward weight: the wavelet of Hopper. The load role is one warp that loads dOut as a matrix
// and the input in im2col order by TMA; see pipeline/tma/tma_roles.hpp for the rest. The workgroups of a cluster have
// neighbouring tiles along GEMM-M and the same part of GEMM-K, so that they need the same input: each copies some of
// its boxes to all.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/epilogue/warp_tile_store.hpp"
#include "ckgen/pipeline/tma/tma_part_products.hpp"
#include "ckgen/pipeline/tma/tma_roles.hpp"
#include "ckgen/pipeline/tma/tma_warp_products.hpp"
#include "ckgen/pipeline/tma/weight_tma_view.hpp"

namespace ckgen::pipeline {

template <class D>
struct WaveletTmaArgs {
    platform::TensorMap out, in;
    typename D::KernelArgs problem;
    int32 out_group_columns, in_group_channels;
    int32 advance[conv::kMaxDims + 1];  // k_per_block rows of GEMM-K as output positions, innermost first, and images
};

// One warp whose lanes all compute the same, so that the compiler keeps values in the uniform registers that TMA
// instructions read; one elected lane issues the loads. A single active lane would need more time between two loads
// than the loads of a small tile take.
template <class D>
struct WaveletTmaLoadRole {
    using Args = WaveletTmaArgs<D>;
    static constexpr int ndim = D::Layout::ndim;
    static constexpr int box_channels = 128 / static_cast<int>(sizeof(typename D::Out));
    using Block = atom::SwizzledTile<typename D::Out, D::k_per_block, box_channels>;  // one TMA load
    static constexpr int block_bytes = Block::bytes;
    static constexpr int a_blocks = D::m_per_block / box_channels;
    static constexpr int b_blocks = ceil_div(D::n_per_block, box_channels);

    static CKGEN_DEVICE void prefetch_maps(const Args& args) {
        platform::prefetch_map(args.out);
        platform::prefetch_map(args.in);
    }
    static CKGEN_DEVICE void run(const platform::Thread& thread, const Args& args, TmaRing<D> ring) {
        const bool leader = platform::elect_lane(thread);
        const int rank = kCluster<D> > 1 ? platform::cluster_rank() : 0;
        const conv::UnitRun run = tma_units<D>(thread, args.problem.schedule);
        for(int u = run.first; u < run.end; u += run.step) {
            const auto tile = conv::BwdWeightTile::of_unit<D>(args.problem, u);
            Column columns[b_blocks];
            CKGEN_UNROLL
            for(int j = 0; j < b_blocks; ++j)
                columns[j].seek(args, tile, tile.n_first + j * box_channels);
            const int out_column = tile.group * args.out_group_columns + tile.m_first;
            Position position(args, tile.k_tile_first * D::k_per_block);
            if(u == run.first)
                platform::pdl_wait();
            for(int k = 0; k < tile.k_tiles; ++k, ring.next(), position.advance(args)) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                if(leader)
                    copy_tile(args, ring, out_column, columns, position, rank);
            }
        }
    }

private:
    // A tap and the first channel of the input of one copy.
    struct Column {
        int channel;
        uint16 tap[ndim];

        CKGEN_DEVICE void seek(const Args& args, const conv::BwdWeightTile& tile, int column) {
            const conv::BwdWeightArgs& p = args.problem;
            int index = column / p.tap_columns;
            channel = tile.group * args.in_group_channels + column - index * p.tap_columns;
            for(int d = ndim - 1; d >= 0; --d) {
                tap[ndim - 1 - d] = static_cast<uint16>(index % p.filter[d] * p.dilation[d]);
                index /= p.filter[d];
            }
            if(index > 0)  // past the last column: past the last channel, which reads as zero
                channel = 0x7fffff00;
        }
    };

    // A row of GEMM-K, and the input's coordinates under tap 0 there, innermost first. It advances without a division,
    // which would take longer than a copy.
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

    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, int out_column,
                                       const Column (&columns)[b_blocks], const Position& position, int rank) {
        platform::mbarrier_expect(ring.full(), D::lds_stage_bytes);
        CKGEN_UNROLL
        for(int i = 0; i < a_blocks; ++i)
            platform::tma_load_2d(ring.data() + i * block_bytes, args.out, ring.full(), out_column + i * box_channels,
                                  position.row);
        constexpr int ranks = kCluster<D> > 1 ? kCluster<D> : 0;
        CKGEN_UNROLL
        for(int j = 0; j < b_blocks; ++j)
            if(ranks == 0 || (j + ring.stage) % kCluster<D> == rank)  // of three boxes one or two in turn
                platform::tma_load_im2col<ndim, ranks>(ring.data() + (a_blocks + j) * block_bytes, args.in, ring.full(),
                                                       columns[j].channel, position.input, position.image,
                                                       columns[j].tap);
    }
};

template <class D, class KernelArgs = WaveletTmaArgs<D>>
struct WaveletTmaView : WeightTmaView<D, KernelArgs> {
    // A row of both operands is a position of GEMM-K.
    static CKGEN_DEVICE constexpr int steps(const KernelArgs&) { return D::k_per_block / 16; }
    template <int Steps>
    static CKGEN_DEVICE void multiply(const platform::Thread&, uint32 a, uint32 b, float (&acc)[D::n_per_block / 2],
                                      bool accumulate) {
        const atom::SwizzledTile<typename D::Out, D::k_per_block, 64> a_tile(a), b_tile(b);
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma<typename D::Out, D::n_per_block>(acc, a_tile.descriptor(16 * k), b_tile.descriptor(16 * k),
                                                         accumulate || k > 0);
    }
};

// tf32, which wgmma does not take in this order: warps multiply by mma.sync.
template <class D>
struct WarpWaveletTmaView
    : WeightTmaView<D, WaveletTmaArgs<D>, epilogue::WarpTileStore<D>, atom::WarpTileAccumulator<D::n_per_block>> {
    static constexpr bool a_in_registers = true;
    static constexpr bool has_products = true;
    static CKGEN_DEVICE constexpr int steps(const WaveletTmaArgs<D>&) { return D::k_per_block / 8; }
    using Products = WarpProducts<D, atom::WarpTile<D::n_per_block, D::k_per_block>>;
};

// f32, as the sum of two numbers of tf32.
template <class D>
struct PartWaveletTmaView : WeightTmaView<D, WaveletTmaArgs<D>> {
    static constexpr bool a_in_registers = true;
    static constexpr bool has_products = true;
    static CKGEN_DEVICE constexpr int steps(const WaveletTmaArgs<D>&) { return D::k_per_block / 8; }
    using Products =
        PartProducts<D, atom::PairFragments<D::k_per_block>, atom::PairColumns<D::n_per_block, D::block_size>>;
};

template <class D, class T = typename D::ComputeA>
struct WaveletTmaViewOf {
    using Type = WaveletTmaView<D>;
};
template <class D>
struct WaveletTmaViewOf<D, tf32_t> {
    using Type = WarpWaveletTmaView<D>;
};
template <class D>
struct WaveletTmaViewOf<D, float> {
    using Type = PartWaveletTmaView<D>;
};

template <class D>
struct WaveletTmaKernel : TmaRoles<D, typename WaveletTmaViewOf<D>::Type, WaveletTmaLoadRole<D>> {
    using T = typename D::ComputeA;
};

}  // namespace ckgen::pipeline
