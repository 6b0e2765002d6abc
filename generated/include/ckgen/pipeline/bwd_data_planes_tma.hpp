// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_planes_tma.hpp. Do not edit; run: ckgen generate
// Families wavelet_tma and stationary of backward data for pointwise filters and tensors with neighbouring positions
// side by side. Both operands are MN-major: the output is loaded in boxes of 64 positions of an image by output
// channels, the weight in boxes of 64 input channels by output channels. The rows of an image are a multiple of 64, of
// which the last may lie past its positions. See pipeline/tma_roles.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/epilogue/wgmma_plane_store.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/pipeline/bwd_data_tma_roles.hpp"

namespace ckgen::pipeline {

template <class D>
struct PlanesTmaBwdDataArgs {
    platform::TensorMap out, wei;
    typename D::KernelArgs problem;
    conv::BwdDataUnits units;
};

// The copies of the load role: see pipeline/bwd_data_tma_roles.hpp.
template <class D>
struct PlanesTmaBwdDataCopies {
    using Args = PlanesTmaBwdDataArgs<D>;
    using Tile = conv::BwdDataTile<1>;
    static constexpr int blocks = D::m_per_block / 64;
    template <int Rows>
    using Box = atom::SwizzledTile<typename D::Out, Rows, 64>;

    // The image and the first position of each block of 64 rows. Images past the last read as zero.
    struct Rows {
        int image[blocks], position[blocks];

        CKGEN_DEVICE Rows(const Args& args, const Tile& tile) {
            CKGEN_UNROLL
            for(int i = 0; i < blocks; ++i) {
                const conv::Walk<2> row(tile.count, args.units.sub_gemms[0].by, tile.m_first + 64 * i);
                image[i] = row.at[0];
                position[i] = row.at[1];
            }
        }
    };

    struct Step {
        int channel;  // of the output

        CKGEN_DEVICE Step(const Args& args, const Tile& tile) : channel(tile.k_tile_first * args.problem.tap_rows) {}
        CKGEN_DEVICE void advance(const Args& args, const Tile&) { channel += args.problem.tap_rows; }
    };

    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, const Tile& tile, const Rows& rows,
                                       const Step& step) {
        constexpr int columns = D::m_per_block + (D::weight_rows > 0 ? 0 : D::n_per_block);
        platform::mbarrier_expect(ring.full(), columns * 2 * args.problem.tap_rows);
        CKGEN_UNROLL
        for(int i = 0; i < blocks; ++i)
            platform::tma_load_nd(ring.data() + i * Box<D::k_per_block>::bytes, args.out, ring.full(), rows.position[i],
                                  step.channel, tile.group, rows.image[i]);
        if constexpr(D::weight_rows == 0)
            copy_weight<D::k_per_block>(args, ring.data() + blocks * Box<D::k_per_block>::bytes, ring.full(), tile,
                                        step);
    }
    template <int Rows>
    static CKGEN_DEVICE void copy_weight(const Args& args, uint32 target, uint32 full, const Tile& tile,
                                         const Step& step) {
        CKGEN_UNROLL
        for(int j = 0; j < D::n_per_block / 64; ++j)
            platform::tma_load_nd(target + j * Box<Rows>::bytes, args.wei, full, tile.n_first + 64 * j, step.channel,
                                  tile.group, 0);
    }
};

template <class D>
struct PlanesTmaBwdDataView : BwdDataTmaView<D, PlanesTmaBwdDataArgs<D>, epilogue::WgmmaPlaneStore<D>> {
    // A row of both operands is an output channel.
    static CKGEN_DEVICE int steps(const PlanesTmaBwdDataArgs<D>& args) { return args.problem.tap_rows / 16; }
    template <int Steps>
    static CKGEN_DEVICE void multiply(uint32 a, uint32 b, float (&acc)[D::n_per_block / 2], bool accumulate) {
        using T = typename D::Out;
        const atom::SwizzledTile<T, D::k_per_block, 64> a_tile(a);
        const atom::SwizzledTile<T, (D::weight_rows > 0 ? D::weight_rows : D::k_per_block), 64> b_tile(b);
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma<T, D::n_per_block>(acc, a_tile.descriptor(16 * k), b_tile.descriptor(16 * k),
                                           accumulate || k > 0);
    }
};

template <class D>
struct PlanesTmaBwdDataKernel : TmaRoles<D, PlanesTmaBwdDataView<D>, BwdDataTmaLoadRole<D, PlanesTmaBwdDataCopies<D>>> {
    using T = typename D::ComputeA;
    using Problem = typename D::KernelArgs;
    static constexpr int ndim = 1;
    static constexpr bool transposes_weight = false;
};

}  // namespace ckgen::pipeline
