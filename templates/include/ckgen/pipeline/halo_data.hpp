// Family halo of backward data: gradients of 3x3 filters whose channels are too few for a matrix tile of their own, at
// the speed of memory. A workgroup has 64 channels of the output, those of several groups. The load role, one thread,
// streams rows of the output through a ring in shared memory (conv/halo_geometry.hpp), where all nine taps read them.
// The weights of all taps stay in registers of the math role.
//   A[position][k] = dOut seen through a tap     B[k][c] = that tap's weights     D[position][c] = dIn
// A warp has 32 channels and 16 cells (conv/halo_taps.hpp) at a time, a cell being all positions of the input that
// share their output positions: with stride 2 four. It writes whole rows of the input.
#pragma once

#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/conv/halo_taps.hpp"
#include "ckgen/epilogue/fused_lines.hpp"
#include "ckgen/platform/copy_engine.hpp"

namespace ckgen::pipeline {

template <class Problem>
struct HaloDataArgs {
    platform::TensorMap out;  // boxes of a step's rows
    Problem problem;
    conv::HaloGeometry ring;
    conv::HaloTaps taps[2];
    int32 windows;         // of 64 channels
    int32 steps;           // of all images
    int32 shares;          // workgroups of a window
    uint32 plane_inverse;  // 2^32 / plane, rounded up
};

template <class D>
struct HaloDataKernel {
    using Args = HaloDataArgs<typename D::KernelArgs>;
    using T = typename D::Out;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr int load_threads = D::launch_threads - D::block_size;
    static constexpr int side = conv::kHaloTaps;
    static constexpr int taps = side * side;
    static constexpr int window = 64;  // channels of a workgroup
    static constexpr int unit = 32;    // and of a warp
    static constexpr int units = window / unit;
    static constexpr int channels = D::n_per_block;  // of a group
    static constexpr int math_shares = D::block_size / 32 / units;
    static constexpr bool fused = D::d_tensors > 0;
    static constexpr int rounds = fused || channels == 32 ? 1 : 2;  // of 16 cells a warp, that do not wait for each other
    static constexpr int cells_at_once = rounds * 16;
    static constexpr int unit_groups = unit / channels;
    static constexpr int column_blocks = channels / 8;
    static constexpr int unit_matrices = unit_groups * taps * column_blocks * column_blocks;  // 8x8 weights each
    static constexpr int zero_bytes = 1024;  // what is left of the ring's first row
    static constexpr int weight_bytes = units * unit_matrices * 128;
    // D's lines are in the cache from step to step, so that steps are short then.
    static constexpr conv::HaloLimits limits{
        math_shares * cells_at_once, 0,
        D::stages,                   D::lds_bytes - zero_bytes - weight_bytes,
        false,                       false,
        (fused ? 28 : 227) * 1024,   96 * 1024};
    // The weights of 32 channels a group fill more registers than an even share.
    static constexpr bool moves_registers = load_threads == 128 && D::block_size == 256;

    struct Walk {
        int image, step;
        int block = 0;
        int stage = 0;
        int parity = 0;

        CKGEN_DEVICE Walk(const conv::HaloGeometry& g, int index)
            : image(index / g.steps_per_image), step(index - image * g.steps_per_image) {}
        CKGEN_DEVICE void next(const conv::HaloGeometry& g) {
            if(++step == g.steps_per_image)
                step = 0, ++image;
            if(++block == g.blocks)
                block = 0;
            if(++stage == g.stages)
                stage = 0, parity ^= 1;
        }
    };

    static CKGEN_DEVICE uint32 bytes(int count) { return static_cast<uint32>(count); }

    // Addresses in shared memory: the ring, the weights, the barriers.
    struct Places {
        uint32 ring, weights, barriers;

        CKGEN_DEVICE Places(const Args& args, uint32 base)
            : ring(base + zero_bytes), weights(ring + bytes(args.ring.ring_bytes)), barriers(weights + weight_bytes) {}
        CKGEN_DEVICE uint32 full(int stage) const { return barriers + bytes(stage * 16); }
        CKGEN_DEVICE uint32 empty(int stage) const { return full(stage) + 8; }
    };

    // The steps of a workgroup: a share that begins inside an image first brings the rows that it reaches back to.
    struct Share {
        int window, first, count, before;

        CKGEN_DEVICE Share(const Args& args, uint32 block) {
            const conv::HaloGeometry& g = args.ring;
            const int index = static_cast<int>(block / bytes(args.windows));
            window = static_cast<int>(block) - index * args.windows;
            first = static_cast<int>(static_cast<int64>(args.steps) * index / args.shares);
            const int end = static_cast<int>(static_cast<int64>(args.steps) * (index + 1) / args.shares);
            before = min_of(g.blocks - g.stages, first % g.steps_per_image);
            first -= before;
            count = end - first;
        }
    };

    struct LoadRole {
        static CKGEN_DEVICE void run(const Args& args, const Places& places, const Share& share) {
            const conv::HaloGeometry& g = args.ring;
            const int block_bytes = g.rows * g.plane * conv::kHaloPitch;
            Walk walk(g, share.first);
            for(int i = 0; i < share.count; ++i, walk.next(g)) {
                const uint32 full = places.full(walk.stage);
                platform::mbarrier_wait(places.empty(walk.stage), walk.parity ^ 1);
                platform::mbarrier_expect(full, block_bytes);
                platform::copy_image_box(places.ring + bytes(walk.block * block_bytes), args.out, full,
                                         share.window * window, args.taps[1].first,
                                         walk.step * g.rows + args.taps[0].first, walk.image);
            }
        }
    };

    // Brings to the cache what a step's cells will want of D tensors, while the step before is multiplied: not earlier,
    // for all workgroups share the cache.
    struct PrefetchRole {
        static CKGEN_DEVICE void run(const Args& args, const Places& places, const Share& share, int id, int threads) {
            Walk walk(args.ring, share.first);
            Walk done(args.ring, share.first);
            for(int i = 0; i < share.count; ++i, walk.next(args.ring)) {
                if(i >= 2) {
                    platform::mbarrier_wait(places.empty(done.stage), done.parity);
                    done.next(args.ring);
                }
                if(i >= share.before)
                    fetch(args, share, walk, id, threads);
            }
        }

    private:
        static CKGEN_DEVICE void fetch(const Args& args, const Share& share, const Walk& walk, int id, int threads) {
            const conv::HaloGeometry& g = args.ring;
            const auto& p = args.problem;
            const int first_row = max_of(0, walk.step * g.rows - g.lead_rows) * p.stride[0];
            const int end = min_of((walk.step * g.rows - g.lead_rows + g.rows) * p.stride[0], p.in_length[0]);
            const int channel = share.window * window;
            for(int row = first_row; row < end; ++row)
                for(int column = id; column < p.in_length[1]; column += threads) {
                    const epilogue::InputPlace<2> at{channel / channels, walk.image, channel % channels, {row, column}};
                    epilogue::FusedLines<typename D::DsDataType, typename D::DsLayout>::fetch(p.d, at, window, channels);
                }
        }
    };

    // The taps in the order in which positions of a cell take them. Position `Index` of a cell, by which of the taps
    // see it: with stride 2 the outer four, two that are above each other, two beside each other, the middle one.
    template <int Stride>
    struct Order {
        static CKGEN_HD constexpr int tap(int slot) {
            return Stride == 1 ? slot : static_cast<int>(0x453718620 >> 4 * slot & 15);  // 0 2 6 8 1 7 3 5 4
        }
    };
    template <int Stride, int Index>
    struct Position {
        static constexpr int stride = Stride;
        static constexpr int first = Stride == 1 ? 0 : Index == 0 ? 0 : Index == 1 ? 4 : Index == 2 ? 6 : 8;
        static constexpr int count = Stride == 1 ? taps : Index == 0 ? 4 : Index == 3 ? 1 : 2;
        static constexpr int tap = Order<Stride>::tap(first);
    };

    class MathRole {
    public:
        CKGEN_DEVICE MathRole(const platform::Thread& thread, const Args& args, const Places& places,
                              const Share& share, int id)
            : thread_(thread), args_(args), places_(places), share_(share), lane_(id % 32), unit_(id / 32 % units),
              math_share_(id / 32 / units), strided_(args.problem.stride[0] == 2) {
            point_at_taps();
            // The channels that a lane writes: a run of eight, which exchange() gives it.
            const int quarter = lane_ % 4;
            const int run = channels == 16 ? quarter % 2 * 2 + quarter / 2 : quarter;
            const int channel = share.window * window + unit_ * unit + run * 8;
            group_ = channel / channels;
            channel_ = channel % channels;
            inside_ = group_ < args.problem.groups;
        }

        CKGEN_DEVICE void run() {
            const uint32 base = places_.weights + bytes(unit_ * unit_matrices * 128 + lane_ * 16);
            CKGEN_UNROLL
            for(int i = 0; i < unit_matrices / 4; ++i)
                platform::load_matrices_transposed(base + bytes(i * 512), weights_[i]);
            const conv::HaloGeometry& g = args_.ring;
            Walk walk(g, share_.first);
            int turn = math_share_;
            for(int i = 0; i < share_.count; ++i, walk.next(g)) {
                platform::mbarrier_wait(places_.full(walk.stage), walk.parity);
                if(i >= share_.before)
                    turn = strided_ ? multiply<2>(walk, turn) : multiply<1>(walk, turn);
                platform::sync_warp();
                if(lane_ == 0)
                    platform::mbarrier_arrive(places_.empty(walk.stage));
            }
        }

    private:
        static constexpr int pairs = 4;  // of channels that a lane has of a cell
        // A pair of results before the lanes exchange them: with D tensors sums, else what is written.
        static constexpr int words = fused ? 2 : 1;
        // D tensors' loads of all positions of a cell are started before the first is multiplied, where registers allow.
        static constexpr bool hoisted = fused && channels < 32;
        struct Inputs {
            epilogue::FusedInputsOf<D, 2 * pairs> d[rounds][2];
        };
        using Accumulators = float[rounds][unit_groups][column_blocks][4];

        CKGEN_DEVICE void point_at_taps() {
            CKGEN_UNROLL
            for(int slot = 0; slot < taps; ++slot)
                place_[slot] = place(tap_of(slot), unit_ * 4 + lane_ / 16);
            if constexpr(channels == 8) {
                CKGEN_UNROLL
                for(int i = 0; i < taps / 2; ++i)
                    place_[i] = place(lane_ < 16 ? tap_of(2 * i) : tap_of(2 * i + 1), unit_ * 4);
                place_[taps / 2] = place_[taps - 1];
            }
            CKGEN_UNROLL
            for(int y = 0; y < side; ++y)
                row_shift_[y] = bytes(args_.taps[0].offset[y] * args_.ring.plane * conv::kHaloPitch);
        }

        CKGEN_DEVICE int tap_of(int slot) const { return strided_ ? Order<2>::tap(slot) : Order<1>::tap(slot); }
        // From a cell's row to this lane's 16 bytes under a tap.
        CKGEN_DEVICE uint32 place(int tap, int chunk) const {
            const int row = args_.taps[0].offset[tap / side];
            const int column = args_.taps[1].offset[tap % side];
            // A step's cells begin at a multiple of 8 less lead_rows rows.
            const int phase = (lane_ + column + (row - args_.ring.lead_rows) * args_.ring.plane) & 7;
            return bytes(column * conv::kHaloPitch + (chunk ^ phase) * 16);
        }
        // The weights of 8 channels k and 8 channels c.
        CKGEN_DEVICE uint32 weight(int group, int slot, int column_block, int k_block) const {
            const int i = ((group * taps + slot) * column_blocks + column_block) * column_blocks + k_block;
            return weights_[i / 4][i % 4];
        }

        // Where a round's cells are in the ring, for each row of the filter.
        struct Rows {
            uint32 at[rounds][side];
        };
        // Of a step: the first cell of those that are multiplied at once, between which cells there are results, and
        // the row that the step's first cell is in. Cells are numbered over a step's rows of the ring.
        struct Cells {
            int at, first, last, first_row;
        };

        // The step's cells whose output rows are all there now, cells_at_once of them by the math warps in turn. Gives
        // the turn that this warp has next.
        template <int Stride>
        CKGEN_DEVICE int multiply(const Walk& walk, int turn) {
            const conv::HaloGeometry& g = args_.ring;
            const int first_row = walk.step * g.rows - g.lead_rows;
            const int begin = max_of(0, -first_row);
            const int rows = min_of(g.rows, args_.taps[0].cells - first_row);
            if(begin >= rows)
                return turn;
            const int first = begin * g.plane;
            const int last = (rows - 1) * g.plane + args_.taps[1].cells - 1;
            const int start = first & ~15;
            const int end = (last - start) / cells_at_once + 1;
            int ring_row = walk.block * g.rows - g.lead_rows;
            ring_row += ring_row < 0 ? g.blocks * g.rows : 0;
            const uint32 ring_bytes = bytes(g.ring_bytes);
            point_at(walk.image);
            int i = turn;
            for(; i < end; i += math_shares) {
                const Cells cells{start + i * cells_at_once, first, last, first_row};
                Inputs inputs[Stride * Stride];
                if constexpr(hoisted) {
                    read<Position<Stride, 0>>(cells, inputs[0]);
                    if constexpr(Stride == 2) {
                        read<Position<Stride, 1>>(cells, inputs[1]);
                        read<Position<Stride, 2>>(cells, inputs[2]);
                        read<Position<Stride, 3>>(cells, inputs[3]);
                    }
                }
                Rows there;
                CKGEN_UNROLL
                for(int r = 0; r < rounds; ++r) {
                    // Lanes beside the step's cells read some of these, and write nothing.
                    const int cell = min_of(max_of(cells.at + r * 16 + lane_ % 16, first), last);
                    const uint32 in = bytes((ring_row * g.plane + cell) * conv::kHaloPitch);
                    CKGEN_UNROLL
                    for(int y = 0; y < side; ++y) {
                        const uint32 place = in + row_shift_[y];
                        there.at[r][y] = places_.ring + (place < ring_bytes ? place : place - ring_bytes);
                    }
                }
                position<Position<Stride, 0>>(there, cells, inputs[0]);
                if constexpr(Stride == 2) {
                    position<Position<Stride, 1>>(there, cells, inputs[1]);
                    position<Position<Stride, 2>>(there, cells, inputs[2]);
                    position<Position<Stride, 3>>(there, cells, inputs[3]);
                }
            }
            return i - end;
        }

        // One position of each cell.
        template <class P>
        CKGEN_DEVICE void position(const Rows& rows, const Cells& cells, Inputs& inputs) const {
            if constexpr(fused && !hoisted)
                read<P>(cells, inputs);
            Accumulators acc;
            CKGEN_UNROLL
            for(int r = 0; r < rounds; ++r)
                CKGEN_UNROLL
            for(int i = 0; i < unit_groups * column_blocks * 4; ++i)
                acc[r][i / 4 / column_blocks][i / 4 % column_blocks][i % 4] = 0.f;
            if constexpr(channels == 8) {
                CKGEN_UNROLL
                for(int i = 0; i < P::count / 2; ++i)
                    multiply_pair<P::stride>(acc, rows, P::first + 2 * i);
                if constexpr(P::count % 2 != 0)
                    multiply_single(acc, rows, Order<P::stride>::tap(taps - 1) / side);
            } else {
                CKGEN_UNROLL
                for(int i = 0; i < P::count; ++i)
                    multiply_tap(acc, rows, P::first + i, Order<P::stride>::tap(P::first + i) / side);
            }
            write<P>(acc, cells, inputs);
        }

        CKGEN_DEVICE void multiply_tap(Accumulators& acc, const Rows& rows, int slot, int row) const {
            // Where registers are short the place is worked out anew.
            const uint32 at = fused && channels == 32 ? place(tap_of(slot), unit_ * 4 + lane_ / 16) : place_[slot];
            uint32 a[rounds][2][4];
            CKGEN_UNROLL
            for(int r = 0; r < rounds; ++r)
                CKGEN_UNROLL
            for(int s = 0; s < 2; ++s)
                platform::load_matrices((rows.at[r][row] + at) ^ bytes(s * 32), a[r][s]);
            CKGEN_UNROLL
            for(int s = 0; s < 2; ++s)
                CKGEN_UNROLL
            for(int r = 0; r < rounds; ++r)
                CKGEN_UNROLL
            for(int j = 0; j < column_blocks; ++j) {
                const int group = channels == 16 ? s : 0;
                const int k_block = channels == 16 ? 0 : s * 2;
                const uint32 b[2] = {weight(group, slot, j, k_block), weight(group, slot, j, k_block + 1)};
                atom::mma_m16n8k16(acc[r][group][j], a[r][s], b, T{});
            }
        }
        // Groups of eight channels: two taps share an instruction.
        template <int Stride>
        CKGEN_DEVICE void multiply_pair(Accumulators& acc, const Rows& rows, int slot) const {
            const int row = Order<Stride>::tap(slot) / side;
            const int next = Order<Stride>::tap(slot + 1) / side;
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
            for(int i = 0; i < unit_groups; ++i) {
                const uint32 b[2] = {weight(i, slot, 0, 0), weight(i, slot + 1, 0, 0)};
                atom::mma_m16n8k16(acc[r][i][0], a[r][i], b, T{});
            }
        }
        CKGEN_DEVICE void multiply_single(Accumulators& acc, const Rows& rows, int row) const {
            CKGEN_UNROLL
            for(int r = 0; r < rounds; ++r)
                CKGEN_UNROLL
            for(int s = 0; s < 2; ++s) {
                uint32 a[4];
                platform::load_matrices((rows.at[r][row] + place_[taps / 2]) ^ bytes(s * 32), a);
                CKGEN_UNROLL
                for(int i = 0; i < 2; ++i) {
                    const uint32 half[2] = {a[2 * i], a[2 * i + 1]};
                    atom::mma_m16n8k8(acc[r][s * 2 + i][0], half, weight(s * 2 + i, taps - 1, 0, 0), T{});
                }
            }
        }

        // Gives each lane four pairs of channels side by side, from the lanes that have the same cell: instead of a
        // pair of each group, or two.
        static CKGEN_DEVICE void exchange(int lane, uint32 (&values)[pairs][words]) {
            CKGEN_UNROLL
            for(int w = 0; w < words; ++w) {
                if constexpr(channels == 16) {
                    swap(lane, 1, values[0][w], values[2][w]);
                    swap(lane, 1, values[1][w], values[3][w]);
                } else if constexpr(channels == 8) {
                    swap(lane, 1, values[0][w], values[1][w]);
                    swap(lane, 1, values[2][w], values[3][w]);
                    swap(lane, 2, values[0][w], values[2][w]);
                    swap(lane, 2, values[1][w], values[3][w]);
                }
            }
        }
        // A lane without `bit` keeps its first value and gets the other lane's first as its second; a lane with it
        // keeps its second.
        static CKGEN_DEVICE void swap(int lane, int bit, uint32& first, uint32& second) {
            const bool keeps_second = (lane & bit) != 0;
            const uint32 got = platform::exchange_lanes(keeps_second ? first : second, bit);
            first = keeps_second ? got : first;
            second = keeps_second ? second : got;
        }

        // A position of the input of which this lane writes eight channels.
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
            const bool there = index >= cells.first && index <= cells.last && cell_column < args_.taps[1].cells && inside_ &&
                               row < args_.problem.in_length[0] && column < args_.problem.in_length[1];
            return {there, row, column};
        }

        // Starts the loads of D.
        template <class P>
        CKGEN_DEVICE void read(const Cells& cells, Inputs& inputs) const {
            CKGEN_UNROLL
            for(int r = 0; r < rounds; ++r)
                CKGEN_UNROLL
            for(int h = 0; h < 2; ++h) {
                const Place place = place_of<P>(cells, r, h);
                // Lanes without a result read an element that is there.
                const epilogue::InputPlace<2> at{0, 0, 0, {place.there ? place.row : 0, place.there ? place.column : 0}};
                inputs.d[r][h] = epilogue::FusedInputsOf<D, 2 * pairs>(thread_, d_, at);
            }
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
                        values[i][0] = rounded(sums[0], sums[1]);
                    }
                }
                exchange(lane_, values);
                const Place place = place_of<P>(cells, r, h);
                if(place.there)
                    store(values, place, inputs.d[r][h]);
            }
        }

        // What is written of two sums where there is no D tensor.
        CKGEN_DEVICE uint32 rounded(float first, float second) const {
            Vec<typename D::In, 2> pair;
            const typename D::Function& function = args_.problem.function;
            function(first, float{first});
            function(second, float{second});
            pair[0] = Convert<typename D::In>::from(first);
            pair[1] = Convert<typename D::In>::from(second);
            return __builtin_bit_cast(uint32, pair);
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
                Vec<uint32, pairs> packed;
                CKGEN_UNROLL
                for(int i = 0; i < pairs; ++i)
                    packed[i] = values[i][0];
                thread_.global_store(target, packed);
            }
        }

        // The input and the D tensors where this lane's channels of an image begin.
        CKGEN_DEVICE void point_at(int image) {
            // Lanes past the last group point at the first, and write nothing.
            const epilogue::InputPlace<2> at{inside_ ? group_ : 0, image, channel_, {0, 0}};
            target_ = reinterpret_cast<typename D::In*>(args_.problem.target) +
                      epilogue::input_offset<D>(at, args_.problem.in);
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
        int group_, channel_;
        bool inside_;
        typename D::In* target_ = nullptr;
        conv::BwdDataTensor d_[max_of(1, D::d_tensors)];
        uint32 row_shift_[side];
        uint32 place_[taps];  // of each slot, or where taps share an instruction of each pair and the last
        uint32 weights_[unit_matrices / 4][4];
    };

    // Copies the window's weights to shared memory, as matrices that ldmatrix transposes, in the order of slots. Columns
    // of the matrix unit are dealt out so that the channels of a lane lie side by side.
    static CKGEN_DEVICE void stage_weights(const platform::Thread& thread, const Args& args, const Places& places,
                                           const Share& share, int id) {
        const auto& p = args.problem;
        const int base = static_cast<int>(places.weights - platform::lds_start());
        constexpr int chunks = window * taps * column_blocks;
        constexpr int turns = ceil_div(chunks, D::block_size);
        Vec<uint32, 4> pairs[turns];
        CKGEN_UNROLL
        for(int turn = 0; turn < turns; ++turn) {
            const WeightChunk at(turn * D::block_size + id);
            const int group = share.window * (window / channels) + at.group;
            const int tap = p.stride[0] == 2 ? Order<2>::tap(at.slot) : Order<1>::tap(at.slot);
            pairs[turn] = Vec<uint32, 4>{};
            if(turn * D::block_size + id < chunks && group < p.groups)
                pairs[turn] = thread.template global_load<Vec<uint32, 4>>(
                    p.wei + group * p.wei_group_bytes + at.k * p.wei_k_bytes + tap / side * p.wei_stride_bytes[0] +
                    tap % side * p.wei_stride_bytes[1] + at.chunk * 16);
        }
        CKGEN_UNROLL
        for(int turn = 0; turn < turns; ++turn) {
            const WeightChunk at(turn * D::block_size + id);
            const int first = (at.group * taps + at.slot) * column_blocks;
            CKGEN_UNROLL
            for(int e = 0; e < 4; ++e) {
                const int pair = at.chunk * 4 + e;
                const int matrix = (first + pair % column_blocks) * column_blocks + at.k / 8;
                if(turn * D::block_size + id < chunks)
                    thread.lds_store(base + matrix * 128 + at.k % 8 * 16 + pair / column_blocks * 4, pairs[turn][e]);
            }
        }
    }
    // Eight channels c of a weight.
    struct WeightChunk {
        int chunk, slot, k, group;

        CKGEN_DEVICE explicit WeightChunk(int index)
            : chunk(index % column_blocks), slot(index / column_blocks % taps),
              k(index / (column_blocks * taps) % channels), group(index / (column_blocks * taps * channels)) {}
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const uint32 start = platform::lds_start();
        const uint32 base = (start + 1023u) & ~1023u;
        const Places places(args, base);
        const Share share(args, thread.block_id());
        const int id = thread.thread_id();
        if(id == 0) {
            for(int stage = 0; stage < args.ring.stages; ++stage) {
                platform::mbarrier_init(places.full(stage), 1);
                platform::mbarrier_init(places.empty(stage), D::block_size / 32);
            }
            platform::mbarrier_publish();
        }
        thread.barrier();
        if(id < load_threads) {
            if constexpr(moves_registers)
                platform::give_registers<40>();
            if(id == 0)
                LoadRole::run(args, places, share);
            if(fused && id >= 32)
                PrefetchRole::run(args, places, share, id - 32, load_threads - 32);
        } else {
            if constexpr(moves_registers)
                platform::take_registers<232>();
            const int math_id = id - load_threads;
            if(math_id < zero_bytes / 16)
                thread.lds_store(static_cast<int>(base - start) + math_id * 16, Vec<uint32, 4>{});
            stage_weights(thread, args, places, share, math_id);
            platform::barrier_of(1, D::block_size);
            MathRole(thread, args, places, share, math_id).run();
        }
    }
};

}  // namespace ckgen::pipeline
