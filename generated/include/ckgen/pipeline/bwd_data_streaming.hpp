// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_streaming.hpp. Do not edit; run: ckgen generate
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

// Elements of a register: two of 16 bits, one of f32 (rounded to tf32, or multiplied as two numbers of tf32).
template <class D>
inline constexpr int streaming_word = 4 / D::elem_bytes;

// The part of a lane in loads, products and stores. Shared memory has the weight as fragments of mma.sync: 16 bytes of
// a lane follow those of the lane before it. A unit of unit_rows output channels by unit_columns input channels makes
// the fragments of 1 to 8 lanes, which put_unit() stores. Units that follow each other along the output channels belong
// to neighbouring lanes.
template <class D, bool ChannelsLast>
class StreamingTile;

// Channels last: rows of the product are positions, columns input channels. Of 64 bytes of channels of the output a
// lane has 16 neighbouring ones, of those of the input too.
template <class D>
class StreamingTile<D, true> {
    using Args = StreamingBwdDataArgs<D>;
    using T = typename D::ComputeA;
    using In = typename D::In;
    static constexpr int word = streaming_word<D>, own = 4 * word;  // elements of a register, of 16 bytes
    static constexpr int rows = D::warp_positions / 16, columns = D::n_per_block / 8;
    static constexpr int chunks = D::k_per_block / (4 * own);

public:
    using Sums = float[rows][columns][4];
    struct Loaded {
        Vec<uint32, 4> words[rows][2][chunks];
    };
    struct Source {
        const char* address = nullptr;
        int rows_left = 0;
    };

    static constexpr int unit_rows = own, unit_columns = own;
    // Byte of a unit in a tile of the weight, from its first output and input channel in the tile.
    static CKGEN_DEVICE int byte_of_unit(int k, int c) {
        const int column = c / (4 * own) * (own / 2);  // the first of its eights of columns
        return (k / (4 * own) * columns + column) * 512 + c / own % 4 * 128 + k / own % 4 * 16;
    }
    // Registers with neighbouring input channels by output channels.
    static CKGEN_DEVICE void put_unit(const platform::Thread& thread, int byte, const uint32 (&words)[own][4]) {
        CKGEN_UNROLL
        for(int c = 0; c < own; ++c) {
            Vec<uint32, 4> fragment;
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                fragment[w] = atom::along_k<word>(c, words + w * word);
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
        const char* const address = source.address + step * (D::k_per_block * D::elem_bytes);
        const int left = args_.problem.k - step * D::k_per_block - part_ * own;
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i)
            CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            CKGEN_UNROLL
        for(int c = 0; c < chunks; ++c) {
            Vec<uint32, 4>& words = loaded.words[i][half][c];
            words = {};
            CKGEN_UNROLL
            for(int e = 0; e < own; e += D::a_vector) {
                if(i * 16 + half * 8 >= source.rows_left || c * 4 * own + e >= left)
                    continue;
                const auto part = thread_.template global_load<Vec<uint32, D::a_vector / word>>(
                    address + static_cast<uint32>((i * 16 + half * 8) * row_bytes_) + c * 64 + e * D::elem_bytes);
                CKGEN_UNROLL
                for(int w = 0; w < D::a_vector / word; ++w)
                    words[e / word + w] = part[w];
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
                uint32 a[1][4];
                CKGEN_UNROLL
                for(int e = 0; e < 4; ++e)
                    a[0][e] = atom::operand(loaded.words[i][e % 2][c][2 * s + e / 2], T{});
                const uint32 pair[1][2] = {{b[2 * s], b[2 * s + 1]}};
                atom::multiply_32_bytes(sums[i][j], a, pair, T{});
            }
        }
    }
    CKGEN_DEVICE void store(int tile, int first_channel, const Sums& sums) const {
        const typename D::KernelArgs& p = args_.problem;
        epilogue::InputPlace<1> at{group_, 0, first_channel + part_ * own, {tile * D::warp_positions + row_}};
        const int rows_left = p.positions - at.position[0], channels_left = p.n - at.channel;
        In* const target = reinterpret_cast<In*>(p.target) + epilogue::input_offset<D>(at, p.in);
        CKGEN_UNROLL
        for(int i = 0; i < rows; ++i)
            CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            CKGEN_UNROLL
        for(int c = 0; c < columns * 8; c += 4 * own)
            CKGEN_UNROLL
        for(int e = 0; e < own; e += D::c_vector) {
            if(i * 16 + half * 8 >= rows_left || c + e >= channels_left)
                continue;
            float values[D::c_vector];
            CKGEN_UNROLL
            for(int v = 0; v < D::c_vector; ++v)
                values[v] = sums[i][c / 8 + (e + v) / 2][half * 2 + (e + v) % 2];
            epilogue::InputPlace<1> place = at;
            place.channel += c + e;
            place.position[0] += i * 16 + half * 8;
            const epilogue::FusedInputsOf<D, D::c_vector> inputs(thread_, p.d, place);
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
// positions of the neighbouring output channels of two registers. Of the eight vectors of a tile, column n of the j-th
// eight columns is position j of vector n % 2 * 4 + n / 2: a lane's results are then of vectors p and 4 + p for lane p
// of four, so that lanes that store together fill neighbouring vectors.
template <class D>
class StreamingTile<D, false> {
    using Args = StreamingBwdDataArgs<D>;
    using T = typename D::ComputeA;
    using In = typename D::In;
    static constexpr int word = streaming_word<D>, own = 2 * word;  // output channels of a lane in a step
    static constexpr int width = D::a_vector, rows = D::n_per_block / 16, steps = D::k_per_block / (4 * own);
    using Values = Vec<uint32, width / word>;

public:
    using Sums = float[rows][width][4];
    struct Loaded {
        Values values[steps][own];
    };
    struct Source {
        const char* address = nullptr;
        bool there = false;
    };

    static constexpr int unit_rows = own, unit_columns = 16;
    static CKGEN_DEVICE int byte_of_unit(int k, int c) {
        return (k / (4 * own) * rows + c / 16) * 512 + k / own % 4 * 16;
    }
    static CKGEN_DEVICE void put_unit(const platform::Thread& thread, int byte, const uint32 (&words)[own][16 / word]) {
        CKGEN_UNROLL
        for(int c = 0; c < 8; ++c) {
            Vec<uint32, 4> fragment;
            CKGEN_UNROLL
            for(int w = 0; w < 4; ++w)
                fragment[w] = atom::along_k<word>(w % 2 * 8 + c, words + w / 2 * word);
            thread.lds_store(byte + c * 64, fragment);
        }
    }

    CKGEN_DEVICE StreamingTile(const platform::Thread& thread, const Args& args, int group)
        : thread_(thread), args_(args), group_(group), row_(thread.thread_id() % 32 / 4),
          part_(thread.thread_id() % 4) {}

    CKGEN_DEVICE Source seek(int tile) const {
        const typename D::KernelArgs& p = args_.problem;
        const Vector at(args_, tile * 8 + row_ % 2 * 4 + row_ / 2);
        return {p.out + group_ * p.out_group_bytes + at.image * p.out_image_bytes + at.position * D::elem_bytes +
                    int64{part_ * own} * p.out_k_bytes,
                at.image < p.images};
    }
    CKGEN_DEVICE void load(Loaded& loaded, const Source& source, int step) const {
        const int32 pitch = args_.problem.out_k_bytes;
        const char* const address = source.address + int64{step * D::k_per_block} * pitch;
        const int left = source.there ? args_.problem.k - step * D::k_per_block - part_ * own : 0;
        CKGEN_UNROLL
        for(int s = 0; s < steps; ++s)
            CKGEN_UNROLL
        for(int k = 0; k < own; ++k) {
            loaded.values[s][k] = {};
            if(s * 4 * own + k < left)
                loaded.values[s][k] =
                    thread_.template global_load<Values>(address + static_cast<uint32>((s * 4 * own + k) * pitch));
        }
    }
    CKGEN_DEVICE void multiply(const Loaded& loaded, int weight, Sums& sums) const {
        CKGEN_UNROLL
        for(int s = 0; s < steps; ++s) {
            uint32 b[width][1][2];
            CKGEN_UNROLL
            for(int j = 0; j < width; ++j)
                CKGEN_UNROLL
            for(int e = 0; e < 2; ++e)
                b[j][0][e] = atom::operand(atom::along_k<word>(j, loaded.values[s] + e * word), T{});
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i) {
                const auto fragment = thread_.template lds_load<Vec<uint32, 4>>(weight + (s * rows + i) * 512 +
                                                                                thread_.thread_id() % 32 * 16);
                const uint32 a[1][4] = {{fragment[0], fragment[1], fragment[2], fragment[3]}};
                CKGEN_UNROLL
                for(int j = 0; j < width; ++j)
                    atom::multiply_32_bytes(sums[i][j], a, b[j], T{});
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
                    epilogue::InputPlace<1> place = at;
                    place.channel += i * 8;
                    place.position[0] += j;
                    const epilogue::FusedInputsOf<D, 1> inputs(thread_, p.d, place);
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
    using Tile = StreamingTile<D, D::Layout::channels_last>;
    static constexpr int threads = D::block_size, warps = threads / 32, word = streaming_word<D>;
    static constexpr int tile_bytes = D::k_per_block * D::n_per_block * D::elem_bytes;

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
        const int warp = thread.uniform(thread.thread_id() / 32);
        const int unit = (block - group * args.work.workgroups) * warps + warp;
        const Tile tile(thread, args, group);
        typename Tile::Source source = tile.seek(args.work.by_n_tiles.quotient(unit));
        typename Tile::Loaded first;  // on its way while the weight is loaded
        if(unit < args.work.units)
            tile.load(first, source, 0);
        load_weight(args, thread, group);
        thread.barrier();
        platform::pdl_launch_dependents();
        if(unit < args.work.units)
            stream(args, tile, unit, source, first);
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
            uint32 words[rows][columns / word];
            CKGEN_UNROLL
            for(int r = 0; r < rows; ++r)
                CKGEN_UNROLL
            for(int e = 0; e < columns; e += piece)
                load_piece(thread, weight + (k + r) * p.wei_k_bytes + int64{c + e} * p.wei_c_bytes, p.wei_c_bytes,
                           k + r < p.k ? p.n - c - e : 0, words[r] + e / word);
            const int tile = (k / D::k_per_block * args.work.n_tiles + c / D::n_per_block) * tile_bytes;
            Tile::put_unit(thread, tile + Tile::byte_of_unit(k % D::k_per_block, c % D::n_per_block), words);
        }
    }
    // Loads `piece` neighbouring channels of the weight. `left`: channels up to the last one; a vector of them is
    // inside the weight or outside.
    static constexpr int piece = max_of(word, D::b_vector);
    static CKGEN_DEVICE void load_piece(const platform::Thread& thread, const char* source, int32 c_bytes, int left,
                                        uint32* words) {
        if constexpr(D::b_vector < word) {
            const uint32 low = left > 0 ? thread.template global_load<uint16>(source) : 0u;
            const uint32 high = left > 1 ? thread.template global_load<uint16>(source + c_bytes) : 0u;
            *words = low | high << 16;
        } else {
            Vec<uint32, piece / word> values{};
            if(left > 0)
                values = thread.template global_load<Vec<uint32, piece / word>>(source);
            CKGEN_UNROLL
            for(int w = 0; w < piece / word; ++w)
                words[w] = atom::operand(values[w], typename D::ComputeA{});
        }
    }

    // A warp's units, n_per_block channels of a tile of positions each: every `distance`-th from `first` on, so that
    // the warps of a workgroup read the same positions at the same time. `now`: what the first multiplication takes,
    // from `source`.
    static CKGEN_DEVICE void stream(const Args& args, const Tile& tile, int first, typename Tile::Source source,
                                    typename Tile::Loaded now) {
        const conv::StreamingWork& work = args.work;
        const int k_tiles = ceil_div(args.problem.k, D::k_per_block);
        const int distance = work.workgroups * warps;
        typename Tile::Loaded next;
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
