// Family warp_split: small products of filters of one tap with stride 1 and no padding, whose tensors have the channels
// last. The warps of a workgroup share a tile and take parts of GEMM-K in turn; their sums meet in shared memory. Warps
// load operands from global memory to the registers of mma.sync, in vectors as wide as the tensors' alignment allows.
// GEMM-K may have any order as long as both operands have the same, and so may rows and columns; these orders are such
// that lanes access neighbouring memory.
#pragma once

#include "ckgen/atom/warp_mma.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/bwd_data_view.hpp"
#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::pipeline {

// The sums of a warp in shared memory, in lines of a row of the tile. Of a K-major A a lane has rows that are 8 apart,
// else neighbouring ones; the swizzle puts the vectors that eight lanes store at once into different banks.
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

// An operand in global memory: rows of neighbouring elements of two bytes. `first_column`: of the tile.
class WarpSplitOperand {
public:
    CKGEN_DEVICE WarpSplitOperand(const char* base, int64 row_bytes, int rows, int columns)
        : base_(base), row_bytes_(row_bytes), rows_(rows), columns_(columns) {
        const auto bits = static_cast<uint32>(reinterpret_cast<uint64>(base) | static_cast<uint64>(row_bytes)) | 16u;
        aligned_ = static_cast<int>(bits & (~bits + 1));
    }

    // Loads Width elements of a row as pairs. Elements outside are zero. `column` is a multiple of Width.
    template <int Width>
    CKGEN_DEVICE void load(const platform::Thread& thread, int row, int column, uint32 (&pairs)[Width / 2]) const {
        CKGEN_UNROLL
        for(int i = 0; i < Width / 2; ++i)
            pairs[i] = 0;
        const int left = row < rows_ ? columns_ - column : 0;
        const char* const source = base_ + row * row_bytes_ + int64{column} * 2;
        if(aligned_ >= 2 * Width && left >= Width)
            load_vectors<Width>(thread, source, left, pairs);
        else if(Width > 4 && aligned_ >= 8 && left % 4 == 0)
            load_vectors<min_of(Width, 4)>(thread, source, left, pairs);
        else if(aligned_ >= 4 && left % 2 == 0)
            load_vectors<2>(thread, source, left, pairs);
        else
            load_elements(thread, source, left, pairs);
    }

private:
    template <int Vector, int Pairs>
    static CKGEN_DEVICE void load_vectors(const platform::Thread& thread, const char* source, int left,
                                          uint32 (&pairs)[Pairs]) {
        CKGEN_UNROLL
        for(int first = 0; first < 2 * Pairs; first += Vector)
            if(first < left) {
                const auto values = thread.template global_load<Vec<uint32, Vector / 2>>(source + first * 2);
                CKGEN_UNROLL
                for(int i = 0; i < Vector / 2; ++i)
                    pairs[first / 2 + i] = values[i];
            }
    }
    template <int Pairs>
    static CKGEN_DEVICE void load_elements(const platform::Thread& thread, const char* source, int left,
                                           uint32 (&pairs)[Pairs]) {
        CKGEN_UNROLL
        for(int i = 0; i < 2 * Pairs; ++i)
            if(i < left)
                pairs[i / 2] |= uint32{thread.template global_load<uint16>(source + i * 2)} << i % 2 * 16;
    }

    const char* base_;
    int64 row_bytes_;
    int rows_, columns_;
    int aligned_;  // bytes to which every row is aligned, at most 16
};

// The part of a lane in a tile's products. Lane 4 * row + part has rows `row` and 8 + `row` of an atom, column `row`
// and, in 16 of GEMM-K, four neighbouring terms. KMajor: A has its terms side by side, else its rows.
template <class D, bool KMajor>
class WarpSplitTile {
    using T = typename D::ComputeA;
    static constexpr int rows = D::m_per_block / 16, columns = D::n_per_block / 8;
    static constexpr int atoms = KMajor ? 2 : 1;  // of GEMM-K, so that K-major vectors have 16 bytes
    static constexpr int terms = 4 * atoms;       // of a lane

public:
    static constexpr int step = 16 * atoms;
    using Sums = float[rows][columns][4];
    struct Loaded {
        uint32 a[KMajor ? 2 * rows : 4][KMajor ? 4 : rows];  // rows or terms, and pairs of terms or of rows
        uint32 b[terms][columns / 2];
    };

    CKGEN_DEVICE WarpSplitTile(const platform::Thread& thread, const WarpSplitOperand& a, const WarpSplitOperand& b,
                               int m_first, int n_first)
        : thread_(thread), a_(a), b_(b), m_first_(m_first), n_first_(n_first), row_(thread.thread_id() % 32 / 4),
          part_(thread.thread_id() % 4) {}

    CKGEN_DEVICE void load(Loaded& loaded, int k) const {
        const int term = k + terms * part_;
        CKGEN_UNROLL
        for(int i = 0; i < terms; ++i)
            b_.load<columns>(thread_, term + i, n_first_ + row_ * columns, loaded.b[i]);
        if constexpr(KMajor) {
            CKGEN_UNROLL
            for(int i = 0; i < 2 * rows; ++i)
                a_.load<8>(thread_, m_first_ + 8 * i + row_, term, loaded.a[i]);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                a_.load<2 * rows>(thread_, term + i, m_first_ + row_ * 2 * rows, loaded.a[i]);
        }
    }
    CKGEN_DEVICE void multiply(const Loaded& loaded, Sums& sums) const {
        CKGEN_UNROLL
        for(int slice = 0; slice < atoms; ++slice)
            CKGEN_UNROLL
        for(int j = 0; j < columns; ++j) {
            const auto& terms = loaded.b;
            const uint32 b[2] = {atom::half_of(j % 2, terms[4 * slice][j / 2], terms[4 * slice + 1][j / 2]),
                                 atom::half_of(j % 2, terms[4 * slice + 2][j / 2], terms[4 * slice + 3][j / 2])};
            CKGEN_UNROLL
            for(int i = 0; i < rows; ++i) {
                uint32 a[4];
                fragment(loaded, slice, i, a);
                atom::mma_m16n8k16(sums[i][j], a, b, T{});
            }
        }
    }
    // Stores the sums at `base`, those of four columns at once.
    CKGEN_DEVICE void store(int base, const Sums& sums) const {
        CKGEN_UNROLL
        for(int i = 0; i < 2 * rows; ++i)
            CKGEN_UNROLL
        for(int e = 0; e < 2; ++e)
            CKGEN_UNROLL
        for(int j = 0; j < columns; j += 4) {
            const auto& own = sums[i / 2];
            const int line = KMajor ? 8 * i + row_ : row_ * 2 * rows + i, at = i % 2 * 2 + e;
            thread_.lds_store(base + WarpSplitSums<D>::byte_of(line, (2 * part_ + e) * columns + j),
                              Vec<float, 4>{own[j][at], own[j + 1][at], own[j + 2][at], own[j + 3][at]});
        }
    }

private:
    static CKGEN_DEVICE void fragment(const Loaded& loaded, int slice, int i, uint32 (&a)[4]) {
        CKGEN_UNROLL
        for(int half = 0; half < 2; ++half)
            CKGEN_UNROLL
        for(int pair = 0; pair < 2; ++pair)
            if constexpr(KMajor)
                a[half + 2 * pair] = loaded.a[2 * i + half][2 * slice + pair];
            else
                a[half + 2 * pair] = atom::half_of(half, loaded.a[2 * pair][i], loaded.a[2 * pair + 1][i]);
    }

    const platform::Thread& thread_;
    const WarpSplitOperand &a_, &b_;
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
    static CKGEN_DEVICE WarpSplitOperand a(const Args& args, const Tile& tile) {
        return {args.out + tile.group * args.out_group_bytes, args.out_stride_bytes[0], rows(args), args.k};
    }
    static CKGEN_DEVICE WarpSplitOperand b(const Args& args, const Tile& tile) {
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

// Backward weight: A and B have positions by channels.
template <class D>
struct WarpSplitBwdWeight {
    using Args = typename D::KernelArgs;
    using Result = typename D::Wei;

    struct Tile : conv::BwdWeightTile {
        CKGEN_DEVICE Tile(const Args& args, uint32 block) : BwdWeightTile(of_block<D>(args, block)) {}
    };
    static CKGEN_DEVICE WarpSplitOperand a(const Args& args, const Tile& tile) {
        return {args.out + tile.group * args.out_group_bytes, args.out_row_bytes, args.k, args.m};
    }
    static CKGEN_DEVICE WarpSplitOperand b(const Args& args, const Tile& tile) {
        return {args.in + tile.group * args.in_group_bytes, args.in_row_bytes, args.k, args.n};
    }
    static CKGEN_DEVICE int rows(const Args& args) { return args.m; }
    static CKGEN_DEVICE Result result(const Args& args, const platform::Thread& thread, const Tile& tile, int m, int n,
                                      float sum) {
        if constexpr(D::fused) {
            const epilogue::WeightPlace<D::Layout::ndim> at(args, tile.group, m, 0, n);
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
    static CKGEN_DEVICE int64 offset(const Args& args, int m, int n) { return int64{m} * args.n + n; }
};

// Operation: WarpSplitBwdData or WarpSplitBwdWeight.
template <class D, class Operation>
class WarpSplitKernel {
    using Result = typename Operation::Result;
    using Tile = typename Operation::Tile;
    using Products = WarpSplitTile<D, D::a_k_major>;
    using Sums = WarpSplitSums<D>;
    static constexpr int width = 2;  // columns that a thread writes

public:
    using Args = typename D::KernelArgs;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const Tile tile(args, thread.block_id());
        const WarpSplitOperand a = Operation::a(args, tile), b = Operation::b(args, tile);
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
