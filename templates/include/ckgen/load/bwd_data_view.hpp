// Convolution backward data as a GEMM: the part that a workgroup computes, and iteration over its rows and taps.
#pragma once

#include "ckgen/config/optional_keys.hpp"
#include "ckgen/conv/bwd_data_args.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

// Positions and input channels of a tile. Exchanged, rows of the product are channels.
template <class D>
inline constexpr int kTilePositions = kExchanges<D> ? D::n_per_block : D::m_per_block;
template <class D>
inline constexpr int kTileChannels = kExchanges<D> ? D::m_per_block : D::n_per_block;

// Iterates over the indices of a box in steps of a constant number, the last dimension fastest. The first dimension has
// no end: indices past its length lie outside.
template <int NDim>
struct Walk {
    int32 at[NDim];

    Walk() = default;
    CKGEN_DEVICE Walk(const int32 (&length)[NDim], int number) {
        CKGEN_UNROLL
        for(int d = NDim - 1; d > 0; --d) {
            const int next = static_cast<int>(static_cast<uint32>(number) / static_cast<uint32>(length[d]));
            at[d] = number - next * length[d];
            number = next;
        }
        at[0] = number;
    }
    // With precomputed divisors of all lengths but the first.
    CKGEN_DEVICE Walk(const int32 (&length)[NDim], const Divider* by, int number) {
        CKGEN_UNROLL
        for(int d = NDim - 1; d > 0; --d) {
            const int next = by[d - 1].quotient(number);
            at[d] = number - next * length[d];
            number = next;
        }
        at[0] = number;
    }
    CKGEN_DEVICE void advance(const int32 (&length)[NDim], const Walk& step) {
        int carry = 0;
        CKGEN_UNROLL
        for(int d = NDim - 1; d > 0; --d) {
            at[d] += step.at[d] + carry;
            carry = at[d] >= length[d] ? 1 : 0;
            at[d] -= carry != 0 ? length[d] : 0;
        }
        at[0] += step.at[0] + carry;
    }
};

// Returns the innermost index of `number`; `number` keeps the outer ones.
CKGEN_DEVICE int take(uint32& number, int length) {
    const uint32 next = number / static_cast<uint32>(length);
    const int index = static_cast<int>(number - next * static_cast<uint32>(length));
    number = next;
    return index;
}

// The part of a GEMM that a workgroup computes: rows from m_first on, columns from n_first on, and its share of GEMM-K.
// NDim: number of dimensions that the kernel distinguishes. A row is an image and a position in each dimension.
template <int NDim>
struct BwdDataTile {
    int m_first, n_first, group, split;
    int k_tile_first, k_tiles;
    int rows;                       // M
    int sub_gemm;                   // number of the sub-GEMM; only persistent kernels set it
    int weight;                     // number of B in kernels with stationary B: sub-GEMM, columns and group
    bool without_taps;              // rows are all positions; those without a tap are written
    int32 count[NDim + 1];          // images, positions
    int32 start[NDim], step[NDim];  // position t of a dimension is input position start + step * t
    int32 origin[NDim];
    int32 first[NDim], taps[NDim];

    // A tile with all of GEMM-K, for persistent kernels.
    template <class D>
    static CKGEN_DEVICE BwdDataTile of_tile(const BwdDataArgs& args, const BwdDataUnits& units, int number) {
        BwdDataTile tile{};
        int block = number + units.first;
        block -= block >= units.tiles ? units.tiles : 0;
        int kind = 0;  // sub-GEMMs with a tap come first
        int m_tile = 0;
        if constexpr(D::weight_rows > 0) {  // B changes as rarely as possible; sub-GEMMs without a tap need none
            kind = take_by(block, units.all_sub_gemms, units.sub_gemm_count);
            m_tile = take_by(block, units.m_tiles, args.m_tiles);
            tile.weight = block * args.sub_gemms + kind;
        }
        tile.n_first = take_by(block, units.n_tiles, args.n_tiles) * kTileChannels<D>;
        tile.group = take_by(block, units.groups, args.groups);
        if constexpr(D::weight_rows == 0) {
            m_tile = take_by(block, units.m_tiles, args.m_tiles);
            kind = block;
        }
        tile.m_first = m_tile * (kTilePositions<D> - (kSumsColumns<D> ? units.row_overlap : 0));
        tile.count[0] = args.images;
        tile.without_taps = kind >= args.sub_gemms;
        tile.sub_gemm = tile.without_taps ? kind - args.sub_gemms : kind;
        if(tile.without_taps)
            tile.set_without_taps(args, tile.sub_gemm);
        else
            tile.set_sub_gemm(args, units.sub_gemms[kind]);
        tile.k_tiles = tile.m_first < tile.rows ? tile.k_tiles * args.k_chunks : 0;
        return tile;
    }
    // One unit of the schedule, for persistent kernels.
    template <class D>
    static CKGEN_DEVICE BwdDataTile of_unit(const BwdDataArgs& args, const BwdDataUnits& units, int unit) {
        const TileSchedule& schedule = units.schedule;
        const bool direct = unit < schedule.data_parallel_tiles;
        const int split = direct ? 0 : (unit - schedule.data_parallel_tiles) / schedule.stream_k_tiles;
        BwdDataTile tile = of_tile<D>(args, units, unit - split * schedule.stream_k_tiles);
        if(!direct) {  // a division, which only shared tiles need
            const int share = ceil_div(tile.k_tiles, schedule.splits);
            tile.k_tile_first = split * share;
            tile.k_tiles = max_of(0, min_of(share, tile.k_tiles - tile.k_tile_first));
        }
        return tile;
    }

    template <class D>
    static CKGEN_DEVICE BwdDataTile of_block(const BwdDataArgs& args, uint32 block) {
        BwdDataTile tile;
        tile.without_taps = block >= args.blocks_with_taps;
        block -= tile.without_taps ? args.blocks_with_taps : 0;
        tile.n_first = take(block, args.n_tiles) * D::n_per_block;
        tile.group = take(block, args.groups);
        tile.m_first = take(block, tile.without_taps ? args.tiles_without_taps : args.m_tiles) * D::m_per_block;
        tile.split = static_cast<int>(block / static_cast<uint32>(args.sub_gemms));
        int number = static_cast<int>(block) - tile.split * args.sub_gemms;
        tile.count[0] = tile.rows = args.images;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d)
            number = tile.set_axis(args, d, number);
        if(D::row_vector > 1 && !tile.without_taps)
            tile.count[NDim] = ceil_div(tile.count[NDim], D::row_vector) * D::row_vector;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d)
            tile.rows *= tile.count[d + 1];
        tile.template share_k<D>(args);
        return tile;
    }

private:
    static CKGEN_DEVICE int take_by(int& number, const Divider& by, int length) {
        const int next = by.quotient(number);
        const int index = number - next * length;
        number = next;
        return index;
    }

    CKGEN_DEVICE void set_sub_gemm(const BwdDataArgs& args, const SubGemm& seen) {
        rows = seen.rows;
        k_tiles = seen.all_taps;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            start[d] = seen.start[d];
            step[d] = args.stride[d];
            count[d + 1] = seen.count[d];
            origin[d] = seen.origin[d];
            taps[d] = seen.taps[d];
            first[d] = seen.first[d];
        }
    }

    // Selects the positions with one residue modulo the stride per dimension, as combination `number`; no position if
    // they have taps.
    CKGEN_DEVICE void set_without_taps(const BwdDataArgs& args, int number) {
        bool tapped = true;
        rows = args.images;
        CKGEN_UNROLL
        for(int d = NDim - 1; d >= 0; --d) {
            const int residues = min_of(args.stride[d], args.in_length[d]);
            const int next = number / residues;
            start[d] = number - next * residues;
            number = next;
            step[d] = args.stride[d];
            count[d + 1] = (args.in_length[d] - start[d] + args.stride[d] - 1) / args.stride[d];
            rows *= count[d + 1];
            tapped = tapped && class_of(args, d, start[d]) >= 0;
        }
        rows = tapped ? 0 : rows;
    }

    // Sets dimension d of sub-GEMM `number`; returns the number of its other dimensions.
    CKGEN_DEVICE int set_axis(const BwdDataArgs& args, int d, int number) {
        const int stride = args.stride[d];
        if(without_taps || stride == 1) {  // every position; with stride 1 there is one class
            first[d] = start[d] = 0;
            step[d] = 1;
            origin[d] = args.pad[d];
            count[d + 1] = args.in_length[d];
            taps[d] = args.filter[d];
            return number;
        }
        const int classes = min_of(args.tilde[d], args.filter[d]);
        const int next = number / classes;
        first[d] = number - next * classes;
        const AxisClass seen = class_of_tap(args, d, first[d]);
        start[d] = seen.start;
        step[d] = stride;
        origin[d] = seen.origin;
        count[d + 1] = seen.count;
        taps[d] = seen.taps;
        return next;
    }

    // Taps of the first dimension: the others meet padding in every row of the tile.
    struct SeenTaps {
        int begin, end;
    };
    template <class D>
    CKGEN_DEVICE SeenTaps seen_taps(const BwdDataArgs& args) const {
        if(args.skips_taps == 0 || m_first >= rows)
            return {0, taps[0]};
        int inside = 1;  // rows per index of the first dimension
        CKGEN_UNROLL
        for(int d = 1; d < NDim; ++d)
            inside *= count[d + 1];
        const int low = quotient(m_first, inside);
        const int first = low - quotient(low, count[1]) * count[1];
        const int last = first + quotient(min_of(m_first + D::m_per_block, rows) - 1, inside) - low;
        if(last >= count[1])  // rows of several images
            return {0, taps[0]};
        const int most = origin[0] + last, least = origin[0] + first - args.out_length[0] + 1;
        const int end = most < 0 ? 0 : min_of(taps[0], quotient(most, args.shift[0]) + 1);
        return {least <= 0 ? 0 : min_of(end, quotient(least + args.shift[0] - 1, args.shift[0])), end};
    }
    // The numbers must not be negative.
    static CKGEN_DEVICE int quotient(int number, int by) {
        return static_cast<int>(static_cast<uint32>(number) / static_cast<uint32>(by));
    }

    template <class D>
    CKGEN_DEVICE void share_k(const BwdDataArgs& args) {
        constexpr int unit = D::load_waves > 0 ? D::stages / 2 : 1;  // family wavelet processes half a ring at once
        int inner = 1;                                               // taps of the other dimensions
        CKGEN_UNROLL
        for(int d = 1; d < NDim; ++d)
            inner *= taps[d];
        const SeenTaps seen = without_taps ? SeenTaps{0, 0} : seen_taps<D>(args);
        const bool several = args.tile_taps > 1;
        const int first = several ? seen.begin * inner / args.tile_taps : seen.begin * inner * args.k_chunks;
        const int end = several ? ceil_div(seen.end * inner, args.tile_taps) : seen.end * inner * args.k_chunks;
        const int tiles = end - first;
        const int share = args.split_k > 1 ? ceil_div(ceil_div(tiles, args.split_k), unit) * unit : tiles;
        k_tile_first = first + split * share;
        k_tiles = max_of(0, min_of(share, end - k_tile_first));
    }
};

}  // namespace ckgen::conv
