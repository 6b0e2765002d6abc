// Family warp_split: small products of filters of one tap with stride 1 and no padding, weights of tensors whose
// positions are contiguous, and weights of few input channels under any filter. The warps of a workgroup share a tile
// and take parts of GEMM-K in turn; their sums meet in shared memory. Warps load operands from global memory to the
// registers of mma.sync, in vectors as wide as the tensors' alignment allows. GEMM-K may have any order as long as both
// operands have the same, and so may rows and columns; these orders are such that lanes access neighbouring memory.
#pragma once

#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/load/bwd_weight_view.hpp"
#include "ckgen/load/warp_split_operand.hpp"

namespace ckgen::pipeline {

// The sums of a warp in shared memory, in lines of a row of the tile. Of a K-major A a lane has rows that are 8 apart,
// else neighbouring ones; the swizzle puts the vectors of 16 bytes that eight lanes store at once into different banks.
template <class D>
struct WarpSplitSums {
    static constexpr int warps = D::block_size / 32;
    static constexpr int pitch = D::n_per_block + 4;
    static constexpr int bytes = D::m_per_block * pitch * 4;
    static_assert(warps * bytes == D::lds_bytes);

    static CKGEN_DEVICE int byte_of(int line, int column) {
        const int swizzle = D::a_k_major ? 0 : line / (D::m_per_block / 8) % 2 * 4;
        return (line * pitch + (column ^ swizzle)) * 4;
    }
};

// True if B is the input under any filter (load::WarpSplitTaps).
template <class D>
inline constexpr bool kGathersTaps = D::conv_spec == ConvSpec::Default;

// The part of a lane in a tile's products. Lane 4 * row + part has rows `row` and 8 + `row` of an atom, column `row`
// and, in 16 of GEMM-K, four neighbouring terms. An operand that is K-major has its terms side by side, else its rows
// or columns.
template <class D, class A, class B>
class WarpSplitTile {
    using T = typename D::ComputeA;
    static constexpr int rows = D::m_per_block / 16, columns = D::n_per_block / 8;
    static constexpr int atoms = D::k_per_block / (D::block_size / 32) / 16;  // of GEMM-K in a step
    static constexpr int terms = 4 * atoms;                                   // of a lane
    // A gathered B has a lane's terms in pairs, as a K-major one has.
    static constexpr bool gathers = kGathersTaps<D>;
    static constexpr bool a_k_major = D::a_k_major, b_k_major = D::b_k_major || gathers;

public:
    static constexpr int step = 16 * atoms;
    using Sums = float[rows][columns][4];
    // Rows and pairs of terms, or terms and pairs of rows; also of columns.
    struct Loaded {
        uint32 a[a_k_major ? 2 * rows : terms][a_k_major ? terms / 2 : rows];
        uint32 b[b_k_major ? columns : terms][b_k_major ? terms / 2 : columns / 2];
    };

    CKGEN_DEVICE WarpSplitTile(const platform::Thread& thread, const A& a, B& b, int m_first, int n_first)
        : thread_(thread), a_(a), b_(b), m_first_(m_first), n_first_(n_first), row_(thread.thread_id() % 32 / 4),
          part_(thread.thread_id() % 4) {}

    // Calls follow each other with terms k that are k_per_block apart.
    CKGEN_DEVICE void load(Loaded& loaded, int k) const {
        if constexpr(gathers) {
            b_.load(thread_, loaded.b);
            a_.template load_rows<2 * rows>(thread_, k + terms * part_, m_first_ + row_ * 2 * rows, loaded.a);
        } else {
            load_operand<b_k_major, columns>(b_, n_first_, k + terms * part_, loaded.b);
            load_operand<a_k_major, 2 * rows>(a_, m_first_, k + terms * part_, loaded.a);
        }
    }
    CKGEN_DEVICE void multiply(const Loaded& loaded, Sums& sums) const {
        CKGEN_UNROLL
        for(int slice = 0; slice < atoms; ++slice)
            CKGEN_UNROLL
        for(int j = 0; j < columns; ++j) {
            const uint32 b[2] = {pair<b_k_major>(loaded.b, slice, j, 0), pair<b_k_major>(loaded.b, slice, j, 1)};
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i) {
                uint32 a[4];
                CKGEN_UNROLL
                for(int e = 0; e < 4; ++e)
                    a[e] = pair<a_k_major>(loaded.a, slice, 2 * i + e % 2, e / 2);
                atom::mma_m16n8k16(sums[i][j], a, b, T{});
            }
        }
    }
    // Stores the sums at `base`, those of neighbouring columns at once.
    CKGEN_DEVICE void store(int base, const Sums& sums) const {
        CKGEN_UNROLL
        for(int i = 0; i < 2 * rows; ++i) {
            const auto& own = sums[i / 2];
            const int line = a_k_major ? 8 * i + row_ : row_ * 2 * rows + i, at = i % 2 * 2;
            CKGEN_UNROLL
            for(int j = 0; j < columns; ++j)
                if constexpr(b_k_major)
                    thread_.lds_store(base + WarpSplitSums<D>::byte_of(line, 8 * j + 2 * part_),
                                      Vec<float, 2>{own[j][at], own[j][at + 1]});
                else if(j % 4 == 0)
                    CKGEN_UNROLL
            for(int e = 0; e < 2; ++e)
                thread_.lds_store(
                    base + WarpSplitSums<D>::byte_of(line, (2 * part_ + e) * columns + j),
                    Vec<float, 4>{own[j][at + e], own[j + 1][at + e], own[j + 2][at + e], own[j + 3][at + e]});
        }
    }

private:
    // Loads the lane's terms from `term` on of `Lines` rows or columns of the tile, whose first one is `first`.
    template <bool KMajor, int Lines, class Operand, class Elements>
    CKGEN_DEVICE void load_operand(const Operand& operand, int first, int term, Elements& elements) const {
        if constexpr(KMajor) {
            CKGEN_UNROLL
            for(int i = 0; i < Lines; ++i)
                operand.template load<terms>(thread_, first + 8 * i + row_, term, elements[i]);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < terms; ++i)
                operand.template load<Lines>(thread_, term + i, first + row_ * Lines, elements[i]);
        }
    }
    // Two terms of a line of the lane, in the registers of an atom: the first or second pair of its slice of GEMM-K.
    template <bool KMajor, class Elements>
    static CKGEN_DEVICE uint32 pair(const Elements& elements, int slice, int line, int number) {
        if constexpr(KMajor)
            return elements[line][2 * slice + number];
        else
            return atom::half_of(line % 2, elements[4 * slice + 2 * number][line / 2],
                                 elements[4 * slice + 2 * number + 1][line / 2]);
    }

    const platform::Thread& thread_;
    const A& a_;
    B& b_;
    const int m_first_, n_first_, row_, part_;
};

// Backward data: A has positions by output channels, B output by input channels.
template <class D>
struct WarpSplitBwdData {
    using Args = typename D::KernelArgs;
    using Result = typename D::In;

    struct Tile {
        int m_first, n_first, group, split, k_tile_first, k_tiles;

        CKGEN_DEVICE Tile(const Args& args, uint32 block) {
            n_first = conv::take(block, args.n_tiles) * D::n_per_block;
            group = conv::take(block, args.groups);
            m_first = conv::take(block, args.m_tiles) * D::m_per_block;
            split = static_cast<int>(block);
            const int share = args.split_k > 1 ? ceil_div(args.k_chunks, args.split_k) : args.k_chunks;
            k_tile_first = split * share;
            k_tiles = max_of(0, min_of(share, args.k_chunks - k_tile_first));
        }
    };
    static CKGEN_DEVICE load::WarpSplitOperand a(const Args& args, const Tile& tile) {
        return {args.out + tile.group * args.out_group_bytes, args.out_stride_bytes[0], rows(args), args.k};
    }
    static CKGEN_DEVICE load::WarpSplitOperand b(const platform::Thread&, const Args& args, const Tile& tile) {
        return {args.wei + tile.group * args.wei_group_bytes, args.wei_k_bytes, args.k, args.n};
    }
    static CKGEN_DEVICE int rows(const Args& args) { return args.in_length[0]; }
    static CKGEN_DEVICE Result result(const Args& args, const platform::Thread& thread, const Tile& tile, int m, int n,
                                      float sum) {
        const epilogue::FusedInputsOf<D, 1> inputs(thread, args.d, place(tile, m, n));
        return Convert<Result>::from(inputs.apply(args.function, 0, sum));
    }
    static CKGEN_DEVICE Result* target(const Args& args, const Tile& tile, int m, int n) {
        return reinterpret_cast<Result*>(args.target) + epilogue::input_offset<D>(place(tile, m, n), args.in);
    }
    static CKGEN_DEVICE int64 partial_offset(const Args& args, const Tile& tile, int m, int n) {
        return tile.split * args.partial_elements + epilogue::input_offset<D>(place(tile, m, n), args.partial_strides);
    }

private:
    static CKGEN_DEVICE epilogue::InputPlace<1> place(const Tile& tile, int m, int n) {
        return {tile.group, 0, n, {m}};
    }
};

// Backward weight: A and B have positions by channels, or channels by positions.
template <class D>
struct WarpSplitBwdWeight {
    using Args = typename D::KernelArgs;
    using Result = typename D::Wei;

    struct Tile : conv::BwdWeightTile {
        CKGEN_DEVICE Tile(const Args& args, uint32 block) : BwdWeightTile(of_block<D>(args, block)) {}
    };
    static CKGEN_DEVICE auto a(const Args& args, const Tile& tile) {
        const char* const base = args.out + tile.group * args.out_group_bytes;
        if constexpr(D::a_k_major)
            return load::WarpSplitPlanes(base, args.out_channel_bytes, args.m, images(args, args.out_image_bytes));
        else
            return load::WarpSplitOperand(base, args.out_row_bytes, args.k, args.m);
    }
    static CKGEN_DEVICE auto b(const platform::Thread& thread, const Args& args, const Tile& tile) {
        const char* const base = args.in + tile.group * args.in_group_bytes;
        if constexpr(kGathersTaps<D>) {
            static_assert(D::k_per_block == D::block_size / 2, "a lane has four terms of each step");
            const int id = thread.thread_id(), row = tile.k_tile_first * D::k_per_block + id / 32 * 16 + id % 4 * 4;
            return load::WarpSplitTaps<D::Layout::ndim, D::n_per_block / 8>(
                thread, args, base, tile.n_first + id % 32 / 4, row, D::k_per_block);
        } else if constexpr(D::b_k_major)
            return load::WarpSplitPlanes(base, args.in_channel_bytes, args.n, images(args, args.in_image_bytes));
        else
            return load::WarpSplitOperand(base, args.in_row_bytes, args.k, args.n);
    }
    static CKGEN_DEVICE int rows(const Args& args) { return args.m; }
    static CKGEN_DEVICE Result result(const Args& args, const platform::Thread& thread, const Tile& tile, int m, int n,
                                      float sum) {
        if constexpr(D::fused) {
            const int tap = n / args.c;
            const epilogue::WeightPlace<D::Layout::ndim> at(args, tile.group, m, tap, n - tap * args.c);
            const epilogue::FusedInputsOf<D, 1> inputs(thread, args.d, at);
            return Convert<Result>::from(inputs.apply(args.function, 0, sum));
        } else {
            return Convert<Result>::from(sum);
        }
    }
    static CKGEN_DEVICE Result* target(const Args& args, const Tile& tile, int m, int n) {
        return reinterpret_cast<Result*>(args.wei) + tile.group * args.wei_group_elements + offset(args, m, n);
    }
    static CKGEN_DEVICE int64 partial_offset(const Args& args, const Tile& tile, int m, int n) {
        return (int64{tile.split} * args.groups + tile.group) * args.wei_group_elements + offset(args, m, n);
    }

private:
    static CKGEN_DEVICE load::WarpSplitPlanes::Images images(const Args& args, int64 bytes) {
        return {args.k / args.out_positions, args.out_positions, bytes};
    }
    static CKGEN_DEVICE int64 offset(const Args& args, int m, int n) { return int64{m} * args.n + n; }
};

// Operation: WarpSplitBwdData or WarpSplitBwdWeight.
template <class D, class Operation>
class WarpSplitKernel {
    using Result = typename Operation::Result;
    using Tile = typename Operation::Tile;
    using Sums = WarpSplitSums<D>;
    static constexpr int width = 2;  // columns that a thread writes

public:
    using Args = typename D::KernelArgs;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const Tile tile(args, thread.block_id());
        const auto a = Operation::a(args, tile);
        auto b = Operation::b(thread, args, tile);
        using Products = WarpSplitTile<D, decltype(a), decltype(b)>;
        const int warp = thread.uniform(thread.thread_id() / 32);
        const Products products(thread, a, b, tile.m_first, tile.n_first);
        platform::pdl_wait();
        typename Products::Sums sums = {};
        const int first = tile.k_tile_first * D::k_per_block;
        const int end = min_of(args.k, first + tile.k_tiles * D::k_per_block);
        sum(products, first + warp * Products::step, end, sums);
        platform::pdl_launch_dependents();
        products.store(warp * Sums::bytes, sums);
        thread.barrier();
        constexpr int columns = D::n_per_block / width;
        for(int i = thread.thread_id(); i < D::m_per_block * columns; i += D::block_size)
            write(args, thread, tile, i / columns, i % columns * width);
    }

private:
    // Adds the warp's products, up to term `end`: a step of each k_per_block terms, the first at term `first`. It loads
    // the next ones meanwhile.
    template <class Products>
    static CKGEN_DEVICE void sum(const Products& products, int first, int end, typename Products::Sums& sums) {
        typename Products::Loaded now, next;
        products.load(now, first);
        for(int k = first; k < end; k += D::k_per_block) {
            products.load(next, k + D::k_per_block);
            products.multiply(now, sums);
            now = next;
        }
    }
    // Adds the warps' sums of neighbouring columns of a line, and writes them.
    static CKGEN_DEVICE void write(const Args& args, const platform::Thread& thread, const Tile& tile, int line,
                                   int column) {
        const int m = tile.m_first + line, n = tile.n_first + column, left = args.n - n;
        if(m >= Operation::rows(args) || left <= 0)
            return;
        Vec<float, width> sums{};
        CKGEN_UNROLL
        for(int warp = 0; warp < Sums::warps; ++warp) {
            const auto own =
                thread.template lds_load<Vec<float, width>>(warp * Sums::bytes + Sums::byte_of(line, column));
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                sums[e] += own[e];
        }
        if(args.partial != nullptr) {
            put(thread, args.partial + Operation::partial_offset(args, tile, m, n), sums, left);
            return;
        }
        Vec<Result, width> results;
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            results[e] = Operation::result(args, thread, tile, m, min_of(n + e, args.n - 1), sums[e]);
        put(thread, Operation::target(args, tile, m, n), results, left);
    }
    template <class Value>
    static CKGEN_DEVICE void put(const platform::Thread& thread, Value* target, const Vec<Value, width>& values,
                                 int left) {
        if(left >= width && reinterpret_cast<uint64>(target) % sizeof(values) == 0) {
            thread.global_store(target, values);
            return;
        }
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            if(e < left)
                thread.global_store(target + e, Vec<Value, 1>{values[e]});
    }
};

}  // namespace ckgen::pipeline
