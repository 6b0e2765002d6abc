// Copied by ckgen from templates/include/ckgen/pipeline/tma/bwd_data_col2im.hpp. Do not edit; run: ckgen generate
// Family col2im of backward data, for few input channels: the product of family wavelet_tma with the taps of a filter
// row as columns, and an epilogue that adds them (conv/col2im.hpp). The output is read once for each tap of the other
// dimensions, not for each tap.
#pragma once

#include "ckgen/epilogue/col2im_store.hpp"
#include "ckgen/pipeline/tma/bwd_data_wavelet_tma.hpp"

namespace ckgen::pipeline {

// `problem` is that of the product: its channels C are the columns, its last dimension has one tap.
template <class D>
struct Col2imArgs : WaveletTmaBwdDataArgs<D> {
    conv::Col2im columns;
};

template <class D>
struct Col2imCopies : WaveletTmaBwdDataCopies<D> {
    using Base = WaveletTmaBwdDataCopies<D>;
    using Args = Col2imArgs<D>;
    using typename Base::Rows, typename Base::Step, typename Base::Tile;
    static constexpr int ndim = D::Layout::ndim;

    // The weight is [group][K][Z][filter row], whose end reads as zero, in boxes of tap_rows of K by 128 bytes of a
    // filter row; transposed [group][Z][filter row][K], in boxes of a tile's columns by 128 bytes of K.
    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, const Tile& tile, const Rows& rows,
                                       const Step& step) {
        constexpr int boxes = kTransposesWeight<D> ? 1 : D::n_per_block / Base::box_channels;
        const int weight_bytes = kTransposesWeight<D> ? kTransposedBytes<D> : boxes * 128 * args.problem.tap_rows;
        platform::mbarrier_expect(ring.full(), Base::Out::bytes + weight_bytes);
        Base::copy_output(args, ring.data(), ring.full(), tile, rows, step);
        const int z = ndim == 3 ? tap_of(args, tile, step, 0) : 0;
        const int column = ndim == 1 ? 0 : tap_of(args, tile, step, ndim - 2) * args.columns.weight_step;
        const uint32 weight = ring.data() + Base::Out::bytes;
        if constexpr(kTransposesWeight<D>) {
            copy_transposed<D>(args, weight, ring.full(), step.channel, column, z, tile.group);
        } else {
            CKGEN_UNROLL
            for(int j = 0; j < boxes; ++j)
                platform::tma_load_nd(weight + j * Base::template Wei<D::k_per_block>::bytes, args.wei, ring.full(),
                                      column + Base::box_channels * j, z, step.channel, tile.group);
        }
    }

private:
    static CKGEN_DEVICE int tap_of(const Args& args, const Tile& tile, const Step& step, int d) {
        return tile.first[d] + args.problem.tilde[d] * step.tap.at[d];
    }
};

template <class D>
struct Col2imView : WaveletTmaBwdDataView<D, Col2imArgs<D>> {
    using Args = Col2imArgs<D>;
    using Tile = conv::BwdDataTile<D::kernel_ndim>;
    static constexpr bool shares_tiles = false;
    static constexpr bool plans_ahead = false;  // the other workgroup of the multiprocessor multiplies meanwhile

    struct Store : epilogue::Col2imStore<D> {
        CKGEN_DEVICE Store(const platform::Thread& thread, const Args& args, const Tile& tile, int id)
            : epilogue::Col2imStore<D>(thread, args.problem, args.units, args.columns, tile, id,
                                       TmaRing<D>::end_byte()) {}
        static CKGEN_DEVICE void prefetch(const Args&, const Tile&, int) {}
    };
};

template <class D>
struct Col2imKernel : TmaRoles<D, Col2imView<D>, BwdDataTmaLoadRole<D, Col2imCopies<D>>>, WaveletTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
