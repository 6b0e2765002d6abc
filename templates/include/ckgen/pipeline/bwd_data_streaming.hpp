// Family streaming of backward data: filters of one tap with stride 1 and no padding, and a weight that fits shared
// memory. Nothing but the weight passes through shared memory: a warp loads its part of the output from global memory
// to the registers of mma.sync and stores the results from there. GEMM-K may have any order as long as both operands
// have the same, and so may the columns; these orders are such that lanes access neighbouring memory.
//
// A unit is n_per_block channels of the input at a tile of positions. A warp takes units in turn; it multiplies
// k_per_block channels of the output after the other and loads the next ones, of this unit or the next, meanwhile.
#pragma once

#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/conv/streaming.hpp"
#include "ckgen/epilogue/fused_output.hpp"

namespace ckgen::pipeline {

template <class D>
struct StreamingBwdDataArgs {
    typename D::KernelArgs problem;
    conv::StreamingWork work;
};

// The part of a lane in loads, products and stores. Shared memory has the weight as fragments of mma.sync: 16 bytes of
// a lane follow those of the lane before it. A unit of unit_rows output channels by unit_columns input channels makes
// the fragments of eight lanes, which put_unit() stores. Units that follow each other along the output channels belong
// to neighbouring lanes.
template <class D, bool ChannelsLast>
class StreamingTile;

// Channels last: rows of the product are positions, columns input channels. Of 32 channels of the output a lane has
// eight neighbouring ones, of 32 of the input too.
template <class D>
class StreamingTile<D, true> {
    using Args = StreamingBwdDataArgs<D>;
    using T = typename D::Out;
    using In = typename D::In;
    static constexpr int rows = D::warp_positions / 16, columns = D::n_per_block / 8, chunks = D::k_per_block / 32;

public:
    using Sums = float[rows][columns][4];
    struct Loaded {
        Vec<uint32, 4> words[rows][2][chunks];
    };
    struct Source {
        const char* address = nullptr;
        int rows_left = 0;
    };

    static constexpr int unit_rows = 8, unit_columns = 8;
    // Byte of a unit in a tile of the weight, from its first output and input channel in the tile.
    static CKGEN_DEVICE int byte_of_unit(int k, int c) {
        return (k / 32 * columns + c / 32 * 4) * 512 + c % 32 / 8 * 128 + k % 32 / 8 * 16;
    }
    // Pairs of neighbouring input channels by output channels.
    static CKGEN_DEVICE void put_unit(const platform::Thread& thread, int byte, const uint32 (&pairs)[8][4]) {
        CKGEN_UNROLL
        for(int c = 0; c < 8; ++c) {
            Vec<uint32, 4> fragment;
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                fragment[w] = atom::half_of(c % 2, pairs[2 * w][c / 2], pairs[2 * w + 1][c / 2]);
            thread.lds_store(byte + c / 2 * 512 + c % 2 * 64, fragment);
        }
    }

    CKGEN_DEVICE StreamingTile(const platform::Thread& thread, const Args& args, int group)
        : thread_(thread), args_(args), group_(group), row_(thread.thread_id() % 32 / 4), part_(thread.thread_id() % 4),
          row_bytes_(static_cast<int32>(args.problem.out_stride_bytes[0])) {}

    CKGEN_DEVICE Source seek(int tile) const {
        const typename D::KernelArgs& p = args_.problem;
        const int position = tile * D::warp_positions + row_;
        return {p.out + group_ * p.out_group_bytes + int64{position} * row_bytes_ + part_ * 16, p.positions - position};
    }
    CKGEN_DEVICE void load(Loaded& loaded, const Source& source, int step) const {
        const char* const address = source.address + step * (D::k_per_block * 2);
        const int left = args_.problem.k - step * D::k_per_block - part_ * 8;
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i)
            CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            CKGEN_UNROLL
        for(int c = 0; c < chunks; ++c) {
            Vec<uint32, 4>& words = loaded.words[i][half][c];
            words = {};
            CKGEN_UNROLL
            for(int e = 0; e < 8; e += D::a_vector) {
                if(i * 16 + half * 8 >= source.rows_left || c * 32 + e >= left)
                    continue;
                const auto part = thread_.template global_load<Vec<uint32, D::a_vector / 2>>(
                    address + static_cast<uint32>((i * 16 + half * 8) * row_bytes_) + c * 64 + e * 2);
                CKGEN_UNROLL
                for(int w = 0; w < D::a_vector / 2; ++w)
                    words[e / 2 + w] = part[w];
            }
        }
    }
    // `weight`: byte of the tile of the weight.
    CKGEN_DEVICE void multiply(const Loaded& loaded, int weight, Sums& sums) const {
        CKGEN_UNROLL
        for(int c = 0; c < chunks; ++c)
            CKGEN_UNROLL
        for(int j = 0; j < columns; ++j) {
            const auto b = thread_.template lds_load<Vec<uint32, 4>>(weight + (c * columns + j) * 512 +
                                                                     thread_.thread_id() % 32 * 16);
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i)
                CKGEN_UNROLL
            for(int s = 0; s < 2; ++s) {
                const auto &upper = loaded.words[i][0][c], &lower = loaded.words[i][1][c];
                const uint32 a[4] = {upper[2 * s], lower[2 * s], upper[2 * s + 1], lower[2 * s + 1]};
                const uint32 pair[2] = {b[2 * s], b[2 * s + 1]};
                atom::mma_m16n8k16(sums[i][j], a, pair, T{});
            }
        }
    }
    CKGEN_DEVICE void store(int tile, int first_channel, const Sums& sums) const {
        const typename D::KernelArgs& p = args_.problem;
        epilogue::InputPlace<1> at{group_, 0, first_channel + part_ * 8, {tile * D::warp_positions + row_}};
        const int rows_left = p.positions - at.position[0], channels_left = p.n - at.channel;
        In* const target = reinterpret_cast<In*>(p.target) + epilogue::input_offset<D>(at, p.in);
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i)
            CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            CKGEN_UNROLL
        for(int c = 0; c < columns * 8; c += 32)
            CKGEN_UNROLL
        for(int e = 0; e < 8; e += D::c_vector) {
            if(i * 16 + half * 8 >= rows_left || c + e >= channels_left)
                continue;
            float values[D::c_vector];
            CKGEN_UNROLL
            for(int v = 0; v < D::c_vector; ++v)
                values[v] = sums[i][c / 8 + (e + v) / 2][half * 2 + (e + v) % 2];
            epilogue::InputPlace<1> own = at;
            own.channel += c + e;
            own.position[0] += i * 16 + half * 8;
            const epilogue::FusedInputsOf<D, D::c_vector> inputs(thread_, p.d, own);
            epilogue::write_fused<D>(thread_, p.function, inputs,
                                     target + (i * 16 + half * 8) * p.in.position[0] + c + e, values);
        }
    }

private:
    const platform::Thread& thread_;
    const Args& args_;
    const int group_, row_, part_;
    const int32 row_bytes_;
};

// Positions side by side: rows of the product are input channels, columns positions. A lane loads a_vector neighbouring
// positions of four neighbouring output channels. Of the eight vectors of a tile, column n of the j-th eight columns is
// position j of vector n % 2 * 4 + n / 2: a lane's results are then of vectors p and 4 + p for lane p of four, so that
// lanes that store together fill neighbouring vectors.
template <class D>
class StreamingTile<D, false> {
    using Args = StreamingBwdDataArgs<D>;
    using T = typename D::Out;
    using In = typename D::In;
    static constexpr int width = D::a_vector, rows = D::n_per_block / 16, steps = D::k_per_block / 16;
    using Values = Vec<uint32, width / 2>;

public:
    using Sums = float[rows][width][4];
    struct Loaded {
        Values values[steps][4];
    };
    struct Source {
        const char* address = nullptr;
        bool there = false;
    };

    static constexpr int unit_rows = 4, unit_columns = 16;
    static CKGEN_DEVICE int byte_of_unit(int k, int c) { return (k / 16 * rows + c / 16) * 512 + k % 16 / 4 * 16; }
    static CKGEN_DEVICE void put_unit(const platform::Thread& thread, int byte, const uint32 (&pairs)[4][8]) {
        CKGEN_UNROLL
        for(int c = 0; c < 8; ++c) {
            Vec<uint32, 4> fragment;
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                fragment[w] =
                    atom::half_of(c % 2, pairs[w / 2 * 2][w % 2 * 4 + c / 2], pairs[w / 2 * 2 + 1][w % 2 * 4 + c / 2]);
            thread.lds_store(byte + c * 64, fragment);
        }
    }

    CKGEN_DEVICE StreamingTile(const platform::Thread& thread, const Args& args, int group)
        : thread_(thread), args_(args), group_(group), row_(thread.thread_id() % 32 / 4),
          part_(thread.thread_id() % 4) {}

    CKGEN_DEVICE Source seek(int tile) const {
        const typename D::KernelArgs& p = args_.problem;
        const Vector at(args_, tile * 8 + row_ % 2 * 4 + row_ / 2);
        return {p.out + group_ * p.out_group_bytes + at.image * p.out_image_bytes + at.position * 2 +
                    int64{part_ * 4} * p.out_k_bytes,
                at.image < p.images};
    }
    CKGEN_DEVICE void load(Loaded& loaded, const Source& source, int step) const {
        const int32 pitch = args_.problem.out_k_bytes;
        const char* const address = source.address + int64{step * D::k_per_block} * pitch;
        const int left = source.there ? args_.problem.k - step * D::k_per_block - part_ * 4 : 0;
        CKGEN_UNROLL
        for(int s = 0; s < steps; ++s)
            CKGEN_UNROLL
        for(int k = 0; k < 4; ++k) {
            loaded.values[s][k] = {};
            if(s * 16 + k < left)
                loaded.values[s][k] =
                    thread_.template global_load<Values>(address + static_cast<uint32>((s * 16 + k) * pitch));
        }
    }
    CKGEN_DEVICE void multiply(const Loaded& loaded, int weight, Sums& sums) const {
        CKGEN_UNROLL
        for(int s = 0; s < steps; ++s) {
            uint32 b[width][2];
            CKGEN_UNROLL
            for(int j = 0; j < width; ++j)
                CKGEN_UNROLL
            for(int pair = 0; pair < 2; ++pair) {
                const uint32 even = loaded.values[s][2 * pair][j / 2], odd = loaded.values[s][2 * pair + 1][j / 2];
                b[j][pair] = atom::half_of(j % 2, even, odd);
            }
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i) {
                const auto fragment = thread_.template lds_load<Vec<uint32, 4>>(weight + (s * rows + i) * 512 +
                                                                                thread_.thread_id() % 32 * 16);
                const uint32 a[4] = {fragment[0], fragment[1], fragment[2], fragment[3]};
                CKGEN_UNROLL
                for(int j = 0; j < width; ++j)
                    atom::mma_m16n8k16(sums[i][j], a, b[j], T{});
            }
        }
    }
    CKGEN_DEVICE void store(int tile, int first_channel, const Sums& sums) const {
        const typename D::KernelArgs& p = args_.problem;
        CKGEN_UNROLL
        for(int e = 0; e < 2; ++e) {
            const Vector vector(args_, tile * 8 + e * 4 + part_);
            epilogue::InputPlace<1> at{group_, vector.image, first_channel + row_, {vector.position}};
            const int left = vector.image < p.images ? p.n - at.channel : 0;
            In* const target = reinterpret_cast<In*>(p.target) + epilogue::input_offset<D>(at, p.in);
            CKGEN_UNROLL
            for(int i = 0; i < 2 * rows; ++i) {
                if(i * 8 >= left)
                    continue;
                Vec<In, width> results;
                CKGEN_UNROLL
                for(int j = 0; j < width; ++j) {
                    epilogue::InputPlace<1> own = at;
                    own.channel += i * 8;
                    own.position[0] += j;
                    const epilogue::FusedInputsOf<D, 1> inputs(thread_, p.d, own);
                    results[j] = Convert<In>::from(inputs.apply(p.function, 0, sums[i / 2][j][i % 2 * 2 + e]));
                }
                thread_.global_store(target + i * 8 * p.in.channel, results);
            }
        }
    }

private:
    // The place of a vector: an image, which may be past the last, and a position.
    struct Vector {
        int image, position;
        CKGEN_DEVICE Vector(const Args& args, int number)
            : image(args.work.by_vectors.quotient(number)), position((number - image * args.work.vectors) * width) {}
    };

    const platform::Thread& thread_;
    const Args& args_;
    const int group_, row_, part_;
};

template <class D>
class StreamingBwdDataKernel {
    using T = typename D::Out;
    using Tile = StreamingTile<D, D::Layout::channels_last>;
    static constexpr int threads = D::block_size, warps = threads / 32;
    static constexpr int tile_bytes = D::k_per_block * D::n_per_block * 2;

public:
    using Args = StreamingBwdDataArgs<D>;
    using Problem = typename D::KernelArgs;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr int resident = D::resident;
    static constexpr bool waits_for_previous = true;
    static constexpr conv::StreamingLimits limits{D::warp_positions, warps, D::stages};

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        platform::pdl_wait();
        const int block = static_cast<int>(thread.block_id());
        const int group = args.work.by_workgroups.quotient(block);
        load_weight(args, thread, group);
        thread.barrier();
        platform::pdl_launch_dependents();
        const int warp = thread.uniform(thread.thread_id() / 32);
        stream(args, thread, group, (block - group * args.work.workgroups) * warps + warp);
    }

private:
    // The weight of a group in tiles of k_per_block by n_per_block, those of one k_per_block after the other. Elements
    // outside are zero.
    static CKGEN_DEVICE void load_weight(const Args& args, const platform::Thread& thread, int group) {
        constexpr int rows = Tile::unit_rows, columns = Tile::unit_columns;
        const Problem& p = args.problem;
        const int column_units = args.work.n_tiles * (D::n_per_block / columns);
        const int units = ceil_div(p.k, D::k_per_block) * (D::k_per_block / rows) * column_units;
        const char* const weight = p.wei + group * p.wei_group_bytes;
        for(int i = thread.thread_id(); i < units; i += threads) {
            const int fourth = i / 4;
            const int k = (fourth / column_units * 4 + i % 4) * rows, c = fourth % column_units * columns;
            uint32 pairs[rows][columns / 2];
            CKGEN_UNROLL
            for(int r = 0; r < rows; ++r)
                CKGEN_UNROLL
            for(int e = 0; e < columns; e += piece)
                load_piece(thread, weight + (k + r) * p.wei_k_bytes + int64{c + e} * p.wei_c_bytes, p.wei_c_bytes,
                           k + r < p.k ? p.n - c - e : 0, pairs[r] + e / 2);
            const int tile = (k / D::k_per_block * args.work.n_tiles + c / D::n_per_block) * tile_bytes;
            Tile::put_unit(thread, tile + Tile::byte_of_unit(k % D::k_per_block, c % D::n_per_block), pairs);
        }
    }
    // Loads `piece` neighbouring channels of the weight as pairs. `left`: channels up to the last one; a vector of them
    // is inside the weight or outside.
    static constexpr int piece = max_of(2, D::b_vector);
    static CKGEN_DEVICE void load_piece(const platform::Thread& thread, const char* source, int32 c_bytes, int left,
                                        uint32* pairs) {
        if constexpr(D::b_vector == 1) {
            const uint32 low = left > 0 ? thread.template global_load<uint16>(source) : 0u;
            const uint32 high = left > 1 ? thread.template global_load<uint16>(source + c_bytes) : 0u;
            *pairs = low | high << 16;
        } else {
            Vec<uint32, piece / 2> values{};
            if(left > 0)
                values = thread.template global_load<Vec<uint32, piece / 2>>(source);
            CKGEN_UNROLL
            for(int w = 0; w < piece / 2; ++w)
                pairs[w] = values[w];
        }
    }

    // A warp's units, n_per_block channels of a tile of positions each: every `distance`-th from `first` on, so that
    // the warps of a workgroup read the same positions at the same time.
    static CKGEN_DEVICE void stream(const Args& args, const platform::Thread& thread, int group, int first) {
        const conv::StreamingWork& work = args.work;
        const int k_tiles = ceil_div(args.problem.k, D::k_per_block);
        const int distance = work.workgroups * warps;
        if(first >= work.units)
            return;
        const Tile tile(thread, args, group);
        typename Tile::Loaded now, next;
        typename Tile::Source source = tile.seek(work.by_n_tiles.quotient(first));
        tile.load(now, source, 0);
        for(int unit = first; unit < work.units; unit += distance) {
            const int number = work.by_n_tiles.quotient(unit), n = unit - number * work.n_tiles;
            typename Tile::Sums sums = {};
            for(int k = 0; k < k_tiles; ++k) {
                const bool last = k + 1 == k_tiles;
                if(last)
                    source = tile.seek(work.by_n_tiles.quotient(min_of(unit + distance, work.units - 1)));
                tile.load(next, source, last ? 0 : k + 1);
                tile.multiply(now, (k * work.n_tiles + n) * tile_bytes, sums);
                now = next;
            }
            tile.store(number, n * D::n_per_block, sums);
        }
    }
};

}  // namespace ckgen::pipeline
