// Copied by ckgen from templates/include/ckgen/pipeline/halo/bwd_data_halo_math.hpp. Do not edit; run: ckgen generate
// The math role of family halo of backward data: see pipeline/halo/bwd_data_halo.hpp.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/epilogue/lane_exchange.hpp"
#include "ckgen/pipeline/halo/bwd_data_halo_weights.hpp"

namespace ckgen::pipeline {

// The warps that multiply. Each has 32 channels and 16 or 32 cells at a time.
template <class D>
class HaloBwdDataMath {
    using Shape = HaloBwdDataShape<D>;
    using Args = typename Shape::Args;
    using Places = typename Shape::Places;
    using Share = typename Shape::Share;
    using T = typename D::ComputeA;
    static constexpr int side = Shape::side, taps = Shape::taps;
    static constexpr int window = Shape::window, unit = Shape::unit, units = Shape::units;
    static constexpr int channels = Shape::channels, unit_groups = Shape::unit_groups;
    static constexpr int column_blocks = Shape::column_blocks;
    static constexpr int rounds = Shape::rounds, cells_at_once = Shape::cells_at_once;
    static constexpr bool fused = Shape::fused;
    static CKGEN_DEVICE uint32 bytes(int count) { return Shape::bytes(count); }

public:
    CKGEN_DEVICE HaloBwdDataMath(const platform::Thread& thread, const Args& args, const Places& places,
                                 const Share& share, int id)
        : thread_(thread), args_(args), places_(places), share_(share), lane_(id % 32), unit_(id / 32 % units),
          math_share_(id / 32 / units), strided_(args.problem.stride[0] == 2) {
        point_at_taps();
        // The channels that a lane writes: runs of contiguous ones, which exchange() collects in the lane. With D
        // tensors one run, else 16 bytes each.
        const int quarter = lane_ % 4;
        const int run = runs == 1 && channels == 16 ? quarter % 2 * 2 + quarter / 2 : quarter;
        channel_ = share.window * window + unit_ * unit + run * Shape::run_channels;
    }

    CKGEN_DEVICE void run() {
        weights_.load(thread_, args_, places_, share_, unit_, lane_);
        const conv::HaloGeometry& g = args_.ring;
        HaloWalk walk(g, places_.stages, share_.first);
        int turn = math_share_;
        for(int i = 0; i < share_.count; ++i, walk.next(g)) {
            platform::mbarrier_wait(walk.ring.full(), walk.ring.parity);
            if(i >= share_.before)
                turn = strided_ ? multiply<2>(walk, turn) : multiply<1>(walk, turn);
            platform::sync_warp();
            if(lane_ == 0)
                platform::mbarrier_arrive(walk.ring.empty());
        }
    }

private:
    static constexpr int pairs = Shape::lane_channels / 2;  // of channels, per cell
    static constexpr int runs = Shape::runs;
    // Words of a pair of results before the lanes exchange them: f32 sums with D tensors, else rounded results.
    static constexpr int words = fused ? 2 : runs;
    // Loads of D tensors for all positions are issued while the previous cells are multiplied, if registers allow.
    template <int Stride>
    static constexpr bool read_ahead = fused && (channels < 32 || Stride == 1);
    struct Inputs {
        epilogue::FusedInputsOf<D, 2 * pairs> d[rounds][2];
    };
    using Accumulators = float[rounds][unit_groups][column_blocks][4];

    CKGEN_DEVICE void point_at_taps() {
        CKGEN_UNROLL
        for(int slot = 0; slot < taps; ++slot)
            place_[slot] = place(tap_of(slot), unit_ * 4 + lane_ / 16);
        if constexpr(Shape::pairs_taps) {
            CKGEN_UNROLL
            for(int i = 0; i < taps / 2; ++i)
                place_[i] = place(lane_ < 16 ? tap_of(2 * i) : tap_of(2 * i + 1), unit_ * 4);
            place_[taps / 2] = place_[taps - 1];
        }
        CKGEN_UNROLL
        for(int y = 0; y < side; ++y)
            row_shift_[y] = bytes(args_.taps[0].offset[y] * args_.ring.plane * conv::kHaloPitch);
    }

    CKGEN_DEVICE int tap_of(int slot) const { return halo_tap(slot, strided_); }
    // Bytes from a cell's row to this lane's 16 bytes under a tap.
    CKGEN_DEVICE uint32 place(int tap, int chunk) const {
        const int row = args_.taps[0].offset[tap / side];
        const int column = args_.taps[1].offset[tap % side];
        // A step's cells begin at a multiple of 8 minus lead_rows rows.
        const int line = lane_ + column + (row - args_.ring.lead_rows) * args_.ring.plane;
        return bytes(column * conv::kHaloPitch + atom::SwizzledRows<T, window>::slot_byte(line, chunk));
    }
    // Addresses of a round's cells in the ring, for each row of the filter.
    struct Rows {
        uint32 at[rounds][side];
    };
    // Cells of a step: the first of those that are multiplied together, the first and the last with results, and the
    // row of the step's first cell. Cells are numbered over a step's rows of the ring.
    struct Cells {
        int at, first, last, first_row;
    };

    // Multiplies the step's cells whose output rows have all arrived. The math warps take cells_at_once cells in turn,
    // beginning with the warp whose `turn` is 0. Returns this warp's `turn` in the next step.
    template <int Stride>
    CKGEN_DEVICE int multiply(const HaloWalk<StageBarriers>& walk, int turn) {
        const conv::HaloGeometry& g = args_.ring;
        const int first_row = walk.step * g.rows - g.lead_rows;
        const int begin = max_of(0, -first_row);
        const int rows = min_of(g.rows, args_.taps[0].cells - first_row);
        if(begin >= rows)
            return turn;
        const int first = begin * g.plane;
        const int last = (rows - 1) * g.plane + args_.taps[1].cells - 1;
        const int start = first & ~15;
        const int end = start + ((last - start) / cells_at_once + 1) * cells_at_once;
        int ring_row = walk.block * g.rows - g.lead_rows;
        ring_row += ring_row < 0 ? g.blocks * g.rows : 0;
        const uint32 ring_bytes = bytes(g.ring_bytes);
        point_at(walk.image);
        Cells cells{start + turn * cells_at_once, first, last, first_row};
        Inputs next[Stride * Stride];
        if(read_ahead<Stride> && cells.at < end)
            read_all<Stride>(cells, next);
        while(cells.at < end) {
            Inputs inputs[Stride * Stride];
            const Cells now = cells;
            cells.at += Shape::math_shares * cells_at_once;
            if constexpr(read_ahead<Stride>) {
                CKGEN_UNROLL
                for(int n = 0; n < Stride * Stride; ++n)
                    inputs[n] = next[n];
                read_all<Stride>(cells, next);
            }
            const Rows there = rows_of(now, ring_row, ring_bytes);
            // If registers are short, D is read one position ahead.
            if constexpr(fused && !read_ahead<Stride>)
                read<HaloPosition<Stride, 0>>(now, inputs[0]);
            positions<Stride, 0>(there, now, inputs);
        }
        return (cells.at - end) / cells_at_once;
    }

    // The rows of a step's cells. `ring_row`: the row of the ring in which cell 0 is.
    CKGEN_DEVICE Rows rows_of(const Cells& cells, int ring_row, uint32 ring_bytes) const {
        Rows there;
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r) {
            // Lanes before or after the step's cells read some of these and write nothing.
            const int cell = min_of(max_of(cells.at + r * 16 + lane_ % 16, cells.first), cells.last);
            const uint32 in = bytes((ring_row * args_.ring.plane + cell) * conv::kHaloPitch);
            CKGEN_UNROLL
            for(int y = 0; y < side; ++y) {
                const uint32 place = in + row_shift_[y];
                there.at[r][y] = places_.ring + (place < ring_bytes ? place : place - ring_bytes);
            }
        }
        return there;
    }

    // Multiplies and stores the positions of each cell from number `Index` on.
    template <int Stride, int Index>
    CKGEN_DEVICE void positions(const Rows& rows, const Cells& cells, Inputs (&inputs)[Stride * Stride]) const {
        constexpr bool another = Index + 1 < Stride * Stride;
        if constexpr(another && fused && !read_ahead<Stride>)
            read<HaloPosition<Stride, Index + 1>>(cells, inputs[Index + 1]);
        position<HaloPosition<Stride, Index>>(rows, cells, inputs[Index]);
        if constexpr(another)
            positions<Stride, Index + 1>(rows, cells, inputs);
    }

    template <class P>
    CKGEN_DEVICE void position(const Rows& rows, const Cells& cells, const Inputs& inputs) const {
        Accumulators acc;
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int i = 0; i < unit_groups * column_blocks * 4; ++i)
            acc[r][i / 4 / column_blocks][i / 4 % column_blocks][i % 4] = 0.f;
        if constexpr(Shape::pairs_taps) {
            CKGEN_UNROLL
            for(int i = 0; i < P::count / 2; ++i)
                multiply_pair<P::stride>(acc, rows, P::first + 2 * i);
            if constexpr(P::count % 2 != 0)
                multiply_single(acc, rows, halo_tap<P::stride>(taps - 1) / side);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < P::count; ++i)
                multiply_tap(acc, rows, P::first + i, halo_tap<P::stride>(P::first + i) / side);
        }
        write<P>(acc, cells, inputs);
    }

    CKGEN_DEVICE void multiply_tap(Accumulators& acc, const Rows& rows, int slot, int row) const {
        // If registers are short, the offset is recomputed.
        const uint32 at = fused && channels == 32 ? place(tap_of(slot), unit_ * 4 + lane_ / 16) : place_[slot];
        constexpr int chunks = unit * Shape::elem_bytes / 32;  // of 32 bytes
        constexpr int group_chunks = chunks / unit_groups;
        uint32 a[rounds][chunks][1][4];
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int s = 0; s < chunks; ++s)
            platform::load_matrices((rows.at[r][row] + at) ^ bytes(s * 32), a[r][s][0]);
        CKGEN_UNROLL
        for(int s = 0; s < chunks; ++s)
            CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int j = 0; j < column_blocks; ++j) {
            const int group = s / group_chunks;
            const uint32* const w = weights_.at(group, slot, j, s % group_chunks * 2);
            const uint32 b[1][2] = {{w[0], w[1]}};
            atom::multiply_32_bytes(acc[r][group][j], a[r][s], b, T{});
        }
    }
    // Groups of eight channels: two taps share an instruction.
    template <int Stride>
    CKGEN_DEVICE void multiply_pair(Accumulators& acc, const Rows& rows, int slot) const {
        const int row = halo_tap<Stride>(slot) / side;
        const int next = halo_tap<Stride>(slot + 1) / side;
        uint32 a[rounds][unit_groups][4];
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r) {
            const uint32 base = row != next && lane_ >= 16 ? rows.at[r][next] : rows.at[r][row];
            CKGEN_UNROLL
            for(int i = 0; i < unit_groups; ++i)
                platform::load_matrices((base + place_[slot / 2]) ^ bytes(i * 16), a[r][i]);
        }
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int i = 0; i < unit_groups; ++i)
            atom::mma_m16n8k16(acc[r][i][0], a[r][i], weights_.at(i, slot, 0, 0), T{});
    }
    CKGEN_DEVICE void multiply_single(Accumulators& acc, const Rows& rows, int row) const {
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int s = 0; s < 2; ++s) {
            uint32 a[4];
            platform::load_matrices((rows.at[r][row] + place_[taps / 2]) ^ bytes(s * 32), a);
            CKGEN_UNROLL
            for(int i = 0; i < 2; ++i)
                atom::mma_m16n8k8(acc[r][s * 2 + i][0], a + 2 * i, weights_.at(s * 2 + i, taps - 1, 0, 0), T{});
        }
    }

    // Gives each lane four contiguous pairs of channels, from the lanes that have the same cell. Before, a lane has one
    // pair of each of four groups, or two pairs of each of two groups.
    CKGEN_DEVICE void exchange(uint32 (&values)[pairs][words]) const {
        CKGEN_UNROLL
        for(int w = 0; w < words; ++w) {
            int32 mine[pairs];
            CKGEN_UNROLL
            for(int i = 0; i < pairs; ++i)
                mine[i] = static_cast<int32>(values[from_group(i)][w]);
            if constexpr(runs == 1 && channels <= 16)
                epilogue::exchange<1, 32>(thread_, lane_, mine);
            if constexpr(channels == 8)
                epilogue::exchange<2, 32>(thread_, lane_, mine);
            CKGEN_UNROLL
            for(int i = 0; i < pairs; ++i)
                values[from_group(i)][w] = static_cast<uint32>(mine[i]);
        }
    }
    // Alternates between two groups, or two runs; its own inverse.
    static CKGEN_DEVICE constexpr int from_group(int i) { return channels == 16 || runs == 2 ? i % 2 * 2 + i / 2 : i; }

    // A position of the input at which this lane writes eight channels.
    struct Place {
        bool there;
        int row, column;
    };
    template <class P>
    CKGEN_DEVICE Place place_of(const Cells& cells, int r, int h) const {
        const int index = cells.at + r * 16 + h * 8 + lane_ / 4;
        const int cell_row = static_cast<int>(uint64{bytes(index)} * args_.plane_inverse >> 32);
        const int cell_column = index - cell_row * args_.ring.plane;
        const int row = (cells.first_row + cell_row) * P::stride + args_.taps[0].at[P::tap / side];
        const int column = cell_column * P::stride + args_.taps[1].at[P::tap % side];
        const bool there = index >= cells.first && index <= cells.last && cell_column < args_.taps[1].cells &&
                           inside() && row < args_.problem.in_length[0] && column < args_.problem.in_length[1];
        return {there, row, column};
    }

    // Issues the loads of D.
    template <class P>
    CKGEN_DEVICE void read(const Cells& cells, Inputs& inputs) const {
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int h = 0; h < 2; ++h) {
            const Place place = place_of<P>(cells, r, h);
            // Lanes without a result read an element that exists.
            const epilogue::InputPlace<2> at{0, 0, 0, {place.there ? place.row : 0, place.there ? place.column : 0}};
            inputs.d[r][h] = epilogue::FusedInputsOf<D, 2 * pairs>(thread_, d_, at);
        }
    }

    template <int Stride, int Index = 0>
    CKGEN_DEVICE void read_all(const Cells& cells, Inputs (&inputs)[Stride * Stride]) const {
        read<HaloPosition<Stride, Index>>(cells, inputs[Index]);
        if constexpr(Index + 1 < Stride * Stride)
            read_all<Stride, Index + 1>(cells, inputs);
    }

    template <class P>
    CKGEN_DEVICE void write(const Accumulators& acc, const Cells& cells, const Inputs& inputs) const {
        CKGEN_UNROLL
        for(int r = 0; r < rounds; ++r)
            CKGEN_UNROLL
        for(int h = 0; h < 2; ++h) {
            uint32 values[pairs][words];
            CKGEN_UNROLL
            for(int i = 0; i < pairs; ++i) {
                const float* const sums = acc[r][i / column_blocks][i % column_blocks] + h * 2;
                if constexpr(fused) {
                    values[i][0] = __builtin_bit_cast(uint32, sums[0]);
                    values[i][words - 1] = __builtin_bit_cast(uint32, sums[1]);
                } else {
                    round_to(values[i], sums[0], sums[1]);
                }
            }
            exchange(values);
            const Place place = place_of<P>(cells, r, h);
            if(place.there)
                store(values, place, inputs.d[r][h]);
        }
    }

    // Two results, rounded; without D tensors.
    CKGEN_DEVICE void round_to(uint32 (&result)[words], float first, float second) const {
        const typename D::Called& function = args_.problem.function;
        function(first, float{first});
        function(second, float{second});
        Vec<typename D::In, 2> pair;
        pair[0] = Convert<typename D::In>::from(first);
        pair[1] = Convert<typename D::In>::from(second);
        const auto bits = __builtin_bit_cast(Vec<uint32, words>, pair);
        CKGEN_UNROLL
        for(int w = 0; w < words; ++w)
            result[w] = bits[w];
    }

    CKGEN_DEVICE void store(const uint32 (&values)[pairs][words], const Place& place,
                            const epilogue::FusedInputsOf<D, 2 * pairs>& inputs) const {
        const conv::InputStrides& strides = args_.problem.in;
        auto* const target = target_ + static_cast<int64>(place.row) * strides.position[0] +
                             static_cast<int64>(place.column) * strides.position[1];
        if constexpr(fused) {
            float sums[2 * pairs];
            CKGEN_UNROLL
            for(int i = 0; i < 2 * pairs; ++i)
                sums[i] = __builtin_bit_cast(float, values[i / 2][i % words]);
            epilogue::write_fused<D>(thread_, args_.problem.function, inputs, target, sums);
        } else {
            constexpr int run_groups = 64 / Shape::elem_bytes / channels;  // from one run to the next
            CKGEN_UNROLL
            for(int run = 0; run < runs; ++run) {
                Vec<uint32, 4> packed;
                CKGEN_UNROLL
                for(int i = 0; i < 4; ++i)
                    packed[i] = values[(run * 4 + i) / words][i % words];
                if(inside(run * run_groups))
                    thread_.global_store(target + run * run_groups * strides.group, packed);
            }
        }
    }

    // True if the group of the lane's first run exists, or the one that is `after` groups after it.
    CKGEN_DEVICE bool inside(int after = 0) const { return channel_ / channels + after < args_.problem.groups; }

    // Sets the addresses of the input and the D tensors to this lane's channels of an image.
    CKGEN_DEVICE void point_at(int image) {
        // Lanes past the last group use the address of the first, and write nothing.
        const epilogue::InputPlace<2> at{inside() ? channel_ / channels : 0, image, channel_ % channels, {0, 0}};
        auto* const input = reinterpret_cast<typename D::In*>(args_.problem.target);
        target_ = input + epilogue::input_offset<D>(at, args_.problem.in);
        CKGEN_UNROLL
        for(int i = 0; i < D::d_tensors; ++i)
            d_[i] = args_.problem.d[i];
        epilogue::FusedAddresses<typename D::DsDataType, typename D::DsLayout>::move(d_, at);
    }

    const platform::Thread& thread_;
    const Args& args_;
    const Places& places_;
    const Share& share_;
    const int lane_, unit_, math_share_;
    const bool strided_;
    int channel_;  // first channel that this lane writes, counted over all groups
    typename D::In* target_ = nullptr;
    conv::BwdDataTensor d_[max_of(1, D::d_tensors)];
    uint32 row_shift_[side];
    uint32 place_[taps];  // per slot; where taps share an instruction, per pair and for the last
    HaloWeights<D> weights_;
};

}  // namespace ckgen::pipeline
