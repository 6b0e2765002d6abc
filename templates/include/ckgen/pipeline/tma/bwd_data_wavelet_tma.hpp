// Family wavelet_tma of backward data. Rows of the product are the positions of a sub-GEMM (conv/bwd_data_args.hpp).
// They read consecutive output positions for every stride, so TMA's im2col mode is used with steps of 1 and one tensor
// map per sub-GEMM. The weight is loaded in boxes of output channels by 128 bytes of a tap's input channels. wgmma
// takes tf32 from shared memory only with both operands K-major: there the weight is a copy with the output channels
// innermost, in boxes of 32 of them by all columns of the tile. Or the operands are exchanged: rows of the product are
// input channels, columns positions, and threads load the weight to registers. Of f32 the copy has the two parts of
// each element (atom/tf32_parts.hpp), and threads load the output; exchanged, they load both operands. See
// pipeline/tma/tma_roles.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/epilogue/wgmma_channel_store.hpp"
#include "ckgen/epilogue/wgmma_input_store.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/pipeline/tma/bwd_data_tma_roles.hpp"

namespace ckgen::pipeline {

template <class D>
struct WaveletTmaBwdDataArgs {
    platform::TensorMap out[conv::kMostSubGemms];  // per sub-GEMM
    platform::TensorMap wei;
    typename D::KernelArgs problem;
    conv::BwdDataUnits units;
    int32 out_group_channels;
    int32 tap_columns;  // of the weight's rows: C, or more in a copy
};

// The copies of the load role: see pipeline/tma/bwd_data_tma_roles.hpp.
template <class D>
struct WaveletTmaBwdDataCopies {
    using Args = WaveletTmaBwdDataArgs<D>;
    static constexpr int ndim = D::Layout::ndim;
    using Tile = conv::BwdDataTile<ndim>;
    static constexpr int box_channels = 128 / static_cast<int>(sizeof(typename D::Out));
    using Out = atom::SwizzledTile<typename D::Out, conv::kTilePositions<D>, D::k_per_block>;
    template <int Rows>
    using Wei = atom::SwizzledTile<typename D::Out, Rows, box_channels>;

    // The first output position of the tile's rows under the last tap of its sub-GEMM; innermost first.
    struct Rows {
        int position[ndim], image;

        CKGEN_DEVICE Rows(const Args& args, const Tile& tile) {
            const conv::Walk<ndim + 1> first(tile.count, args.units.sub_gemms[tile.sub_gemm].by, tile.m_first);
            image = first.at[0];
            CKGEN_UNROLL
            for(int d = 0; d < ndim; ++d)
                position[ndim - 1 - d] = tile.origin[d] - args.problem.shift[d] * (tile.taps[d] - 1) + first.at[d + 1];
        }
    };

    // A tile of GEMM-K: one tap of the sub-GEMM and tap_rows of its output channels. Taps are the inner loop, because
    // they read the same lines of the output. Copies of the output always have k_per_block channels; if that is more
    // than tap_rows, the rest is not multiplied.
    struct Step {
        int channel;  // of the output, within the group
        conv::Walk<ndim> tap;
        uint16 offset[ndim];  // in the output, from the last tap to this one; innermost first
        int column;           // column in the weight's rows; of a transposed weight, the tap's number

        CKGEN_DEVICE Step(const Args& args, const Tile& tile) : channel(0), tap{} {
            if(tile.k_tile_first > 0) {
                int taps = 1;
                CKGEN_UNROLL
                for(int d = 0; d < ndim; ++d)
                    taps *= tile.taps[d];
                const int chunk = tile.k_tile_first / taps;
                channel = chunk * args.problem.tap_rows;
                tap = conv::Walk<ndim>(tile.taps, tile.k_tile_first - chunk * taps);
            }
            find(args, tile);
        }
        CKGEN_DEVICE void advance(const Args& args, const Tile& tile) {
            conv::Walk<ndim> one{};
            one.at[ndim - 1] = 1;
            tap.advance(tile.taps, one);
            if(tap.at[0] == tile.taps[0]) {
                tap.at[0] = 0;
                channel += args.problem.tap_rows;
            }
            find(args, tile);
        }

    private:
        CKGEN_DEVICE void find(const Args& args, const Tile& tile) {
            const conv::BwdDataArgs& p = args.problem;
            column = 0;
            CKGEN_UNROLL
            for(int d = 0; d < ndim; ++d) {
                offset[ndim - 1 - d] = static_cast<uint16>(p.shift[d] * (tile.taps[d] - 1 - tap.at[d]));
                column = column * p.filter[d] + tile.first[d] + p.tilde[d] * tap.at[d];
            }
            if constexpr(!kTransposesWeight<D>)
                column = column * args.tap_columns + tile.n_first;
        }
    };

    static CKGEN_DEVICE const platform::TensorMap& first_map(const Args& args) { return args.out[0]; }
    static CKGEN_DEVICE void copy_tile(const Args& args, const TmaRing<D>& ring, const Tile& tile, const Rows& rows,
                                       const Step& step) {
        const int weight_bytes = D::weight_rows > 0     ? 0
                                 : kTransposesWeight<D> ? kTransposedBytes<D>
                                                        : weight_boxes * 128 * args.problem.tap_rows;
        platform::mbarrier_expect(ring.full(), Out::bytes + weight_bytes);
        constexpr int out_byte = kExchanges<D> ? weight_boxes * Wei<D::k_per_block>::bytes : 0;  // operand A is first
        copy_output(args, ring.data() + out_byte, ring.full(), tile, rows, step);
        const uint32 weight = ring.data() + (kExchanges<D> ? 0 : Out::bytes);
        if constexpr(kTransposesWeight<D>)
            copy_transposed<D>(args, weight, ring.full(), step.channel, tile.n_first, step.column, tile.group);
        else if constexpr(D::weight_rows == 0)
            copy_weight<D::k_per_block>(args, weight, ring.full(), tile, step);
    }
    static CKGEN_DEVICE void copy_output(const Args& args, uint32 target, uint32 full, const Tile& tile,
                                         const Rows& rows, const Step& step) {
        platform::tma_load_im2col<ndim>(target, args.out[tile.sub_gemm], full,
                                        tile.group * args.out_group_channels + step.channel, rows.position, rows.image,
                                        step.offset);
    }
    // Rows: distance from one box of input channels to the next.
    template <int Rows>
    static CKGEN_DEVICE void copy_weight(const Args& args, uint32 target, uint32 full, const Tile& tile,
                                         const Step& step) {
        CKGEN_UNROLL
        for(int j = 0; j < weight_boxes; ++j)
            platform::tma_load_nd(target + j * Wei<Rows>::bytes, args.wei, full, step.column + box_channels * j,
                                  step.channel, tile.group, 0);
    }

private:
    static constexpr int weight_boxes = ceil_div(conv::kTileChannels<D>, box_channels);
};

// The epilogue of an instance.
template <class D, bool Exchanges = kExchanges<D>>
struct InputStore {
    using Type = epilogue::WgmmaInputStore<D>;
};
template <class D>
struct InputStore<D, true> {
    using Type = epilogue::WgmmaChannelStore<D>;
};

// The products of f32: of positions by the parts of the weight, or of channels of the weight by positions.
template <class D, bool Exchanges = kExchanges<D>>
struct InputProducts {
    using Type = PartProducts<D, atom::RowFragments, PartsInStage>;
};
template <class D>
struct InputProducts<D, true> {
    using Type =
        PartProducts<D, atom::PlaneFragments<D::k_per_block>, atom::KMajorColumns<D::n_per_block, D::block_size>>;
};

template <class D, class KernelArgs = WaveletTmaBwdDataArgs<D>>
struct WaveletTmaBwdDataView : BwdDataTmaView<D, KernelArgs, typename InputStore<D>::Type> {
    using Args = KernelArgs;
    using Base = BwdDataTmaView<D, Args, typename InputStore<D>::Type>;
    static constexpr bool a_in_registers = kExchanges<D> || tma_multiplies_f32<D>;
    using Products = typename InputProducts<D>::Type;

    static CKGEN_DEVICE bool has_row(const Args& args, const typename Base::Tile& tile, int row) {
        if constexpr(kExchanges<D>)  // the channels of a warpgroup have another order
            return tile.n_first + row / 64 * 64 < args.problem.n;
        else
            return Base::has_row(args, tile, row);
    }
    // A row of A is a position of the sub-GEMM (exchanged: an input channel), a column of A and a row of B an output
    // channel.
    static CKGEN_DEVICE int steps(const Args& args) { return args.problem.tap_rows / step; }
    template <int Steps>
    static CKGEN_DEVICE void multiply(const platform::Thread& thread, uint32 a, uint32 b,
                                      float (&acc)[D::n_per_block / 2], bool accumulate) {
        if constexpr(kExchanges<D>)
            Base::template multiply_registers<Steps>(thread, a, b, acc, accumulate);
        else
            multiply_lds<Steps>(a, b, acc, accumulate);
    }

private:
    template <int Steps>
    static CKGEN_DEVICE void multiply_lds(uint32 a, uint32 b, float (&acc)[D::n_per_block / 2], bool accumulate) {
        using T = typename D::ComputeA;
        constexpr atom::Major major = kTransposesWeight<D> ? atom::Major::k : atom::Major::mn;
        const atom::SwizzledTile<T, 64, D::k_per_block> a_tile(a);
        CKGEN_UNROLL
        for(int k = 0; k < Steps; ++k)
            atom::wgmma<T, D::n_per_block, atom::Major::k, major>(acc, a_tile.k_major_descriptor(step * k),
                                                                  weight_descriptor(b, step * k), accumulate || k > 0);
    }

    static constexpr int step = 32 / static_cast<int>(sizeof(typename D::Out));  // positions of a product

    static CKGEN_DEVICE uint64 weight_descriptor(uint32 b, int first) {
        using T = typename D::Out;
        if constexpr(kTransposesWeight<D>)
            return atom::SwizzledTile<T, D::n_per_block, D::k_per_block>(b).k_major_descriptor(first);
        else
            return atom::SwizzledTile<T, (D::weight_rows > 0 ? D::weight_rows : D::k_per_block), 64>(b).descriptor(
                first);
    }
};

// Values that the host code of a kernel reads.
template <class D>
struct WaveletTmaBwdDataSizes {
    using T = typename D::ComputeA;
    using Problem = typename D::KernelArgs;
    static constexpr int ndim = D::Layout::ndim;
    static constexpr int rows_per_copy = conv::kTilePositions<D>;
    static constexpr int n_per_block = D::n_per_block;
    static constexpr int k_per_block = D::k_per_block;
    static constexpr bool transposes_weight = kTransposesWeight<D>;
    static constexpr int weight_parts = D::weight_parts;
};

template <class D>
struct WaveletTmaBwdDataKernel
    : TmaRoles<D, WaveletTmaBwdDataView<D>, BwdDataTmaLoadRole<D, WaveletTmaBwdDataCopies<D>>>,
      WaveletTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
