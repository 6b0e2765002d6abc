// Copied by ckgen from templates/include/ckgen/pipeline/tma/bwd_data_planes_tma.hpp. Do not edit; run: ckgen generate
// Families wavelet_tma and stationary of backward data for pointwise filters and tensors with neighbouring positions
// side by side. The output is loaded in boxes of 128 bytes of an image's positions by output channels. The rows of an
// image are a multiple of 64, of which the last may lie past its positions. Of 16-bit types, both operands are
// MN-major, and the weight is loaded in boxes of 64 input channels by output channels. Of 32-bit types, threads load A
// to registers, and the weight is a copy as in pipeline/tma/bwd_data_wavelet_tma.hpp. See pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/epilogue/wgmma_plane_store.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/pipeline/tma/bwd_data_tma_roles.hpp"

namespace ckgen::pipeline {

template <class D>
struct PlanesTmaBwdDataArgs {
    platform::TensorMap out, wei;
    typename D::KernelArgs problem;
    conv::BwdDataUnits units;
};

// The copies of the load role: see pipeline/tma/bwd_data_tma_roles.hpp.
template <class D, class Args_ = PlanesTmaBwdDataArgs<D>>
struct PlanesTmaBwdDataCopies {
    using Args = Args_;
    using Tile = conv::BwdDataTile<1>;
    static constexpr int blocks = D::m_per_block / 64;
    static constexpr int elem_bytes = sizeof(typename D::Out);
    static constexpr int box_positions = 128 / elem_bytes;
    static constexpr int block_boxes = 64 / box_positions;
    template <int Rows>
    using Box = atom::SwizzledTile<typename D::Out, Rows, box_positions>;

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

    static CKGEN_DEVICE const platform::TensorMap& first_map(const Args& args) { return args.out; }
    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, const Tile& tile, const Rows& rows,
                                       const Step& step) {
        const int weight_bytes = D::weight_rows > 0     ? 0
                                 : kTransposesWeight<D> ? kTransposedBytes<D>
                                                        : D::box_columns * 2 * args.problem.tap_rows;
        platform::mbarrier_expect(ring.full(), D::m_per_block * elem_bytes * args.problem.tap_rows + weight_bytes);
        CKGEN_UNROLL
        for(int i = 0; i < blocks * block_boxes; ++i)
            platform::tma_load_nd(ring.data() + i * Box<D::k_per_block>::bytes, args.out, ring.full(),
                                  rows.position[i / block_boxes] + i % block_boxes * box_positions, step.channel,
                                  tile.group, rows.image[i / block_boxes]);
        const uint32 weight = ring.data() + blocks * block_boxes * Box<D::k_per_block>::bytes;
        if constexpr(kTransposesWeight<D>)
            copy_transposed<D>(args, weight, ring.full(), step.channel, tile.n_first, 0, tile.group);
        else if constexpr(D::weight_rows == 0)
            copy_weight<D::k_per_block>(args, weight, ring.full(), tile, step);
    }
    template <int Rows>
    static CKGEN_DEVICE void copy_weight(const Args& args, uint32 target, uint32 full, const Tile& tile,
                                         const Step& step) {
        CKGEN_UNROLL
        for(int j = 0; j < D::box_columns / 64; ++j)
            platform::tma_load_nd(target + j * Box<Rows>::bytes, args.wei, full, tile.n_first + 64 * j, step.channel,
                                  tile.group, 0);
    }
};

template <class D, class KernelArgs = PlanesTmaBwdDataArgs<D>, class Epilogue = epilogue::WgmmaPlaneStore<D>>
struct PlanesTmaBwdDataView : BwdDataTmaView<D, KernelArgs, Epilogue> {
    using Base = BwdDataTmaView<D, KernelArgs, Epilogue>;
    static constexpr bool a_in_registers = sizeof(typename D::Out) == 4;
    using Products = PartProducts<D, atom::PlaneFragments<D::k_per_block>, PartsInStage>;

    // The rows of a warpgroup may have another order.
    static CKGEN_DEVICE bool has_row(const KernelArgs&, const typename Base::Tile& tile, int row) {
        return tile.m_first + row / 64 * 64 < tile.rows;
    }
    // A row of A is an output channel.
    static CKGEN_DEVICE int steps(const KernelArgs& args) { return args.problem.tap_rows / step; }
    template <int Steps>
    static CKGEN_DEVICE void multiply(const platform::Thread& thread, uint32 a, uint32 b,
                                      float (&acc)[D::n_per_block / 2], bool accumulate) {
        if constexpr(a_in_registers)
            Base::template multiply_registers<Steps>(thread, a, b, acc, accumulate);
        else
            multiply_lds<Steps>(a, b, acc, accumulate);
    }

private:
    using T = typename D::Out;
    static constexpr int step = 32 / static_cast<int>(sizeof(T));  // output channels of a product

    template <int Steps>
    static CKGEN_DEVICE void multiply_lds(uint32 a, uint32 b, float (&acc)[D::n_per_block / 2], bool accumulate) {
        const atom::SwizzledTile<T, D::k_per_block, 64> a_tile(a);
        const atom::SwizzledTile<T, (D::weight_rows > 0 ? D::weight_rows : D::k_per_block), 64> b_tile(b);
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma<T, D::n_per_block>(acc, a_tile.descriptor(step * k), b_tile.descriptor(step * k),
                                           accumulate || k > 0);
    }
};

// Values that the host code of a kernel reads.
template <class D>
struct PlanesTmaBwdDataSizes {
    using T = typename D::ComputeA;
    using Problem = typename D::KernelArgs;
    static constexpr int ndim = 1;
    static constexpr int n_per_block = D::n_per_block;
    static constexpr int k_per_block = D::k_per_block;
    static constexpr int box_positions = PlanesTmaBwdDataCopies<D>::box_positions;
    static constexpr bool transposes_weight = kTransposesWeight<D>;
    static constexpr int weight_parts = D::weight_parts;
};

template <class D>
struct PlanesTmaBwdDataKernel : TmaRoles<D, PlanesTmaBwdDataView<D>, BwdDataTmaLoadRole<D, PlanesTmaBwdDataCopies<D>>>,
                                PlanesTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
