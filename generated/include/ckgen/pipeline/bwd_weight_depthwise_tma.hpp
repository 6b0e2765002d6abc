// Copied by ckgen from templates/include/ckgen/pipeline/bwd_weight_depthwise_tma.hpp. Do not edit; run: ckgen generate
// Family depthwise_tma of backward weight: groups of one channel on Hopper, by multiply-adds. A workgroup has as many
// groups as fill 128 bytes of a position. The load role streams rows of the input and the output through shared memory,
// each once (conv/halo_geometry.hpp). A warp of the math role has a part of the filter, `stages` rows of m_per_block
// taps, and every `shares`-th piece of a row of the output. It walks along the piece: per position it reads one value
// of each row of the input, which stays in registers until all taps have used it, and one of the output. The sums of
// its taps stay in registers until the workgroup's share of the images is complete.
#pragma once

#include "ckgen/conv/halo_geometry.hpp"
#include "ckgen/pipeline/depthwise.hpp"
#include "ckgen/pipeline/depthwise_sums.hpp"
#include "ckgen/pipeline/halo/halo_load.hpp"

namespace ckgen::pipeline {

// The division of the output's rows among the warps of the math role. Taps are of one class, or of two if neighbouring
// taps of a row read columns of different residues modulo the stride, which have a ring each. Neighbouring taps of a
// class read positions that are `distance` apart, so a row has as many sequences of positions that share values. These
// are cut into pieces.
struct DepthwisePieces {
    int32 classes, distance;
    int32 pieces, length;  // of a sequence; positions of a piece
    conv::Divider by_pieces, by_distance;

    DepthwisePieces() = default;
    explicit DepthwisePieces(const conv::BwdWeightArgs& p)
        : classes(p.stride[1] == 2 && p.dilation[1] % 2 != 0 ? 2 : 1), distance(p.dilation[1] * classes / p.stride[1]),
          pieces(ceil_div(ceil_div(p.out_length[1], distance), most_positions)),
          length(ceil_div(ceil_div(p.out_length[1], distance), pieces)), by_pieces(conv::Divider::by(pieces)),
          by_distance(conv::Divider::by(distance)) {}

private:
    static constexpr int most_positions = 28;  // eight warps share the pieces of short rows evenly
};

template <class D>
struct DepthwiseTmaArgs : HaloArgs<D> {
    DepthwisePieces rows;
};

template <class D>
class DepthwiseTmaKernel {
    static constexpr int vector = D::a_vector;  // groups of a lane
    static constexpr int part_rows = D::stages, part_taps = D::m_per_block;
    static constexpr int warps = D::block_size / 32;
    static constexpr int ring_stages = 6;
    static constexpr int load_threads = D::launch_threads - D::block_size;
    static constexpr int pitch = conv::kHaloPitch;
    static_assert(D::n_per_block == 32 * vector && D::n_per_block * D::elem_bytes == pitch, "a warp has all groups");

public:
    using Args = DepthwiseTmaArgs<D>;
    using T = typename D::Out;
    static constexpr int groups = D::n_per_block;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr conv::HaloLimits limits{8,         pitch,     ring_stages, lds_bytes, false, false,
                                             lds_bytes, 48 * 1024, part_taps,   part_rows, warps};

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const HaloRings rings(args, platform::lds_start(), lds_bytes);
        const auto tile = conv::BwdWeightTile::of_block<D>(args.problem, thread.block_id());
        const int id = thread.thread_id();
        if(id == 0) {
            rings.out.init(1, warps);
            platform::fence_mbarrier_init();
        }
        platform::fence_proxy_async();
        thread.barrier();
        platform::pdl_wait();
        if(id >= load_threads)
            DepthwiseTmaKernel(args, rings, thread, id - load_threads).multiply_all(tile);
        else if(id == 0)
            HaloLoadRole<D>::run(args, rings, tile);
    }

private:
    using Raw = typename RawValues<T, vector>::Type;
    using Sums = float[part_rows][part_taps][vector];

    CKGEN_DEVICE DepthwiseTmaKernel(const Args& args, const HaloRings& rings, const platform::Thread& thread, int id)
        : args_(args), rings_(rings), thread_(thread), id_(id), row_parts_(ceil_div(args.problem.filter[0], part_rows)),
          column_parts_(ceil_div(args.problem.filter[1], part_taps)) {
        const int parts = row_parts_ * column_parts_;
        part_ = id / 32 % parts;
        shares_ = warps / parts;
        share_ = id / 32 / parts;
        first_row_ = part_ / column_parts_ * part_rows;
        first_tap_ = part_ % column_parts_ * part_taps;
    }

    CKGEN_DEVICE void multiply_all(const conv::BwdWeightTile& tile) {
        Sums sums = {};
        const bool adjacent = args_.rows.distance == 1;
        if(args_.rows.classes == 2)
            adjacent ? multiply_steps<2, true>(tile, sums) : multiply_steps<2, false>(tile, sums);
        else
            adjacent ? multiply_steps<1, true>(tile, sums) : multiply_steps<1, false>(tile, sums);
        platform::barrier_of(1, D::block_size);  // the rings are free now
        if(share_ < shares_)
            spread(sums);
        platform::barrier_of(1, D::block_size);
        store(tile);
    }

    // Adjacent: the distance of neighbouring positions is 1.
    template <int Classes, bool Adjacent>
    CKGEN_DEVICE void multiply_steps(const conv::BwdWeightTile& tile, Sums& sums) const {
        const conv::BwdWeightArgs& p = args_.problem;
        const conv::HaloGeometry& g = args_.rings;
        const DepthwisePieces& rows = args_.rows;
        const int distance = Adjacent ? 1 : rows.distance;
        int first = share_;  // of the step's pieces, the first of this warp's share
        const HaloShare steps(g, tile.k_tile_first, tile.k_tile_first + tile.k_tiles);
        HaloWalk walk(g, rings_.out, steps.first);
        for(int i = 0; i < steps.count; ++i, walk.next(g)) {
            platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);
            if(i >= steps.before && share_ < shares_) {
                const int lead = walk.step * g.rows - g.lead_rows;  // row of the output that is first in the step
                const int top = max_of(0, -lead);
                const int count = (min_of(g.rows, p.out_length[0] - lead) - top) * distance * rows.pieces;
                for(; first < count; first += shares_) {
                    const int line = rows.by_pieces.quotient(first);
                    const int row = Adjacent ? line : rows.by_distance.quotient(line);
                    const int column = line - row * distance + (first - line * rows.pieces) * rows.length * distance;
                    const int left = p.out_length[1] - column + distance - 1;
                    const int positions =
                        min_of(rows.length, Adjacent ? left : rows.by_distance.quotient(max_of(left, 0)));
                    if(positions > 0)
                        multiply<Classes>(walk, top + row, column, positions, distance * pitch, sums);
                }
                first -= max_of(0, count);
            }
            platform::sync_warp();
            if(thread_.thread_id() % 32 == 0)
                platform::mbarrier_arrive(walk.ring.empty());
        }
    }

    // The number of a class's taps.
    static CKGEN_DEVICE constexpr int taps_of(int kind, int classes) {
        return (part_taps - kind + classes - 1) / classes;
    }

    // The window of a warp that walks along a row: of each row of the input and class of taps, the values that the taps
    // of the next positions share. Byte offsets are those of shared memory.
    template <int Classes>
    struct Window {
        static constexpr int slots = taps_of(0, Classes);
        static constexpr int turn = slots * max_of(1, 8 / slots);  // positions after which the slots repeat

        int in[part_rows], kind[Classes], out;
        float values[part_rows][Classes][slots][vector];
    };

    // Sets the offsets for row `row` of the step, from position `column` on.
    template <int Classes>
    CKGEN_DEVICE void set_offsets(const HaloWalk<StageRing>& walk, int row, int column, Window<Classes>& w) const {
        const conv::BwdWeightArgs& p = args_.problem;
        const conv::HaloGeometry& g = args_.rings;
        const int ring_rows = g.blocks * g.rows;
        const int first_line = walk.block * g.rows - g.lead_rows + row;
        const int first_byte = column * pitch + thread_.thread_id() % 32 * 4;
        w.out = byte_of(walk.ring.data()) + row * g.plane * pitch + first_byte;
        CKGEN_UNROLL
        for(int r = 0; r < part_rows; ++r) {
            const int tap = min_of(first_row_ + r, p.filter[0] - 1) * p.dilation[0];
            const auto [ring, shift] = place_of(tap, p.stride[0]);
            int line = first_line + shift;
            line += line < 0 ? ring_rows : 0;
            line -= line >= ring_rows ? ring_rows : 0;
            w.in[r] = byte_of(rings_.in) + ring * p.stride[1] * g.ring_bytes + line * g.plane * pitch + first_byte;
        }
        CKGEN_UNROLL
        for(int kind = 0; kind < Classes; ++kind) {
            const auto [ring, shift] = place_of((first_tap_ + kind) * p.dilation[1], p.stride[1]);
            w.kind[kind] = ring * g.ring_bytes + shift * pitch;
        }
    }

    // Loads value i of the taps of class `kind` of each row; positions are `step` bytes apart.
    template <int Classes>
    CKGEN_DEVICE void load_values(int kind, int i, int step, Window<Classes>& w) const {
        CKGEN_UNROLL
        for(int r = 0; r < part_rows; ++r)
            load(w.in[r] + w.kind[kind] + i * step, w.values[r][kind][i % Window<Classes>::slots]);
    }

    // Multiplies position i of a turn.
    template <int Classes>
    CKGEN_DEVICE void next(int i, int step, Window<Classes>& w, Sums& sums) const {
        CKGEN_UNROLL
        for(int kind = 0; kind < Classes; ++kind)
            load_values(kind, i + taps_of(kind, Classes) - 1, step, w);
        float value[vector];
        load(w.out + i * step, value);
        CKGEN_UNROLL
        for(int r = 0; r < part_rows; ++r)
            CKGEN_UNROLL
        for(int tap = 0; tap < part_taps; ++tap)
            CKGEN_UNROLL
        for(int e = 0; e < vector; ++e)
            sums[r][tap][e] += w.values[r][tap % Classes][(i + tap / Classes) % Window<Classes>::slots][e] * value[e];
    }

    // Multiplies `positions` positions of row `row` of the step, from `column` on, `step` bytes apart.
    template <int Classes>
    CKGEN_DEVICE void multiply(const HaloWalk<StageRing>& walk, int row, int column, int positions, int step,
                               Sums& sums) const {
        constexpr int turn = Window<Classes>::turn;
        Window<Classes> w;
        set_offsets(walk, row, column, w);
        CKGEN_UNROLL
        for(int kind = 0; kind < Classes; ++kind)
            CKGEN_UNROLL
        for(int i = 0; i < taps_of(kind, Classes) - 1; ++i)
            load_values(kind, i, step, w);
        for(; positions >= turn; positions -= turn) {
            CKGEN_UNROLL
            for(int i = 0; i < turn; ++i)
                next(i, step, w, sums);
            CKGEN_UNROLL
            for(int r = 0; r < part_rows; ++r)
                w.in[r] += turn * step;
            w.out += turn * step;
        }
        CKGEN_UNROLL
        for(int i = 0; i < turn - 1; ++i) {
            if(i >= positions)
                break;
            next(i, step, w, sums);
        }
    }

    // The ring of a row or column that is `position` after the first under tap 0, and its place there; the stride is 1
    // or 2.
    struct RingPlace {
        int ring, shift;
    };
    static CKGEN_DEVICE RingPlace place_of(int position, int stride) {
        return {position & (stride - 1), position >> (stride - 1)};
    }
    static CKGEN_DEVICE int byte_of(uint32 address) { return static_cast<int>(address - platform::lds_start()); }
    CKGEN_DEVICE void load(int byte, float (&values)[vector]) const {
        to_floats<T, vector>(thread_.template lds_load<Raw>(byte), values);
    }

    // In shared memory: the sums of each share and group, by part, row and tap of the part. An odd pitch puts the
    // groups of neighbouring lanes into different banks.
    CKGEN_DEVICE int sums_pitch() const { return row_parts_ * column_parts_ * part_rows * part_taps | 1; }
    CKGEN_DEVICE void spread(const Sums& sums) const {
        CKGEN_UNROLL
        for(int e = 0; e < vector; ++e) {
            const int line = share_ * groups + thread_.thread_id() % 32 * vector + e;
            const int first = line * sums_pitch() + part_ * part_rows * part_taps;
            CKGEN_UNROLL
            for(int r = 0; r < part_rows; ++r)
                CKGEN_UNROLL
            for(int tap = 0; tap < part_taps; ++tap)
                thread_.lds_store((first + r * part_taps + tap) * 4, sums[r][tap][e]);
        }
    }

    // Adds the shares in order and stores the weights.
    CKGEN_DEVICE void store(const conv::BwdWeightTile& tile) const {
        const typename D::KernelArgs& p = args_.problem;
        const int taps = p.n;  // of a group
        const int there = min_of(groups, p.groups - tile.group) * taps;
        for(int i = id_; i < there; i += D::block_size) {
            const int group = i / taps;
            const int tap = i - group * taps;
            const int row = tap / p.filter[1];
            const int column = tap - row * p.filter[1];
            const int part = row / part_rows * column_parts_ + column / part_taps;
            const int place = (part * part_rows + row % part_rows) * part_taps + column % part_taps;
            const float total = sum_of_lds(thread_, group * sums_pitch() + place, groups * sums_pitch(), 0, shares_, 1);
            const int64 element = static_cast<int64>(tile.group) * taps + i;
            if(p.partial != nullptr)
                thread_.global_store(
                    p.partial + static_cast<int64>(tile.split) * p.groups * p.wei_group_elements + element, total);
            else
                store_weight<D>(thread_, args_, tile.group + group, 0, tap, element, total);
        }
    }

    const Args& args_;
    const HaloRings& rings_;
    const platform::Thread& thread_;
    const int id_;  // of the math role
    const int row_parts_, column_parts_;
    int shares_, share_;                // warps that have the same part; those after the last share have nothing to do
    int part_, first_row_, first_tap_;  // this warp's part of the filter, and its first row and tap
};

}  // namespace ckgen::pipeline
