// Transposes matrices without gaps: images between PyTorch's default memory format and channels last.
//
// The copy is memory-bound. A workgroup copies a tile to LDS in aligned vectors of 16 bytes. A row of the tile may
// begin inside a vector; then LDS holds the whole vector, and reads skip the elements before the row. Each thread reads
// one or two elements of several rows at a time and stores them as a vector of the result. Lanes read rows that are 8,
// 4 or 2 apart: an odd number of vectors per row, and one more vector per 8 rows, put these into different banks.
#pragma once

#include "ckgen/conv/divider.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::load {

// From [images][rows][columns] to [images][columns][rows].
struct TransposeArgs {
    const char* source;  // both are aligned to 16 bytes
    char* target;
    int64 images, rows, columns;  // in elements
    uint32 row_tiles, column_tiles;
    int32 tile_rows, tile_columns;  // multiples of the elements of a vector; at most launch_threads rows
    int32 vectors;                  // that contain a part of a row of a tile, at most
    int32 pitch;                    // vectors of LDS per row: an odd number, at least `vectors`
    conv::Divider by_vectors;
};

// Element: uint16 or uint32, for all types of that size.
template <class Element>
struct TransposeKernel {
    using Args = TransposeArgs;
    using Vector = Vec<uint32, 4>;
    static constexpr int size = static_cast<int>(sizeof(Element));
    static constexpr int width = 16 / size;
    static constexpr int launch_threads = 256;
    static constexpr int lds_bytes = 20 * 1024;
    static constexpr int resident = 8;
    static constexpr bool waits_for_previous = true;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const uint32 tiles = args.row_tiles * args.column_tiles, tile = thread.block_id() % tiles;
        const int64 image = thread.block_id() / tiles * (args.rows * args.columns);
        const int64 row = static_cast<int64>(tile / args.column_tiles) * args.tile_rows;
        const int64 column = static_cast<int64>(tile % args.column_tiles) * args.tile_columns;
        const Tile found{args, image + row * args.columns + column, image + column * args.rows + row,
                         part(args.rows - row, args.tile_rows), part(args.columns - column, args.tile_columns)};
        platform::pdl_wait();
        load(found, thread);
        platform::pdl_launch_dependents();
        thread.barrier();
        if(args.rows % width == 0)
            store<width>(found, thread);
        else if(args.rows % (width / 2) == 0)
            store<width / 2>(found, thread);
        else if(args.rows % 2 == 0)
            store<2>(found, thread);
        else
            store<1>(found, thread);
    }

private:
    struct Tile {
        const Args& args;
        int64 source, target;  // the first element
        int rows, columns;

        // The elements of a row's first vector that precede the row.
        CKGEN_DEVICE int skipped(int row) const {
            return static_cast<int>((static_cast<uint32>(source) + row * static_cast<uint32>(args.columns)) % width);
        }
        // The byte offset in LDS of a row's first vector.
        CKGEN_DEVICE int place(int row) const { return (row * args.pitch + row / 8) * 16; }
    };

    static CKGEN_DEVICE int part(int64 rest, int most) { return rest < most ? static_cast<int>(rest) : most; }

    static CKGEN_DEVICE void load(const Tile& tile, const platform::Thread& thread) {
        constexpr int at_once = 4;
        const int all = tile.rows * tile.args.vectors;
        for(int i = thread.thread_id(); i < all; i += at_once * launch_threads) {
            Vector values[at_once];
            int places[at_once];
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j) {
                const int index = i + j * launch_threads, row = tile.args.by_vectors.quotient(index);
                const int vector = index - row * tile.args.vectors;
                const int skipped = tile.skipped(row);
                places[j] = -1;
                if(index < all && vector * width < skipped + tile.columns) {
                    places[j] = tile.place(row) + vector * 16;
                    values[j] =
                        load(tile.args, thread, tile.source + row * tile.args.columns - skipped + vector * width);
                }
            }
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j)
                if(places[j] >= 0)
                    thread.lds_store(places[j], values[j]);
        }
    }

    // The vector at an element of the source; only the last one may be partly outside.
    static CKGEN_DEVICE Vector load(const Args& args, const platform::Thread& thread, int64 element) {
        const char* const source = args.source + element * size;
        const int64 rest = args.images * args.rows * args.columns - element;
        if(rest >= width)
            return thread.global_load<Vector>(source);
        Vector values{};
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            if(e < rest)
                values[e * size / 4] |= static_cast<uint32>(thread.global_load<Element>(source + e * size))
                                        << (8 * (e * size % 4));
        return values;
    }

    template <int Rows>
    static CKGEN_DEVICE void store(const Tile& tile, const platform::Thread& thread) {
        if(tile.args.columns % (4 / size) == 0)
            store<Rows, uint32>(tile, thread);
        else
            store<Rows, Element>(tile, thread);
    }

    // A thread has `Rows` rows of the source, and takes a Piece of each at a time: one element or two. For each of
    // these it stores a vector of the target, of an element per row.
    template <int Rows, class Piece>
    static CKGEN_DEVICE void store(const Tile& tile, const platform::Thread& thread) {
        constexpr int columns = sizeof(Piece) / size;
        const int groups = tile.rows / Rows, step = launch_threads / groups;
        const int row = thread.thread_id() % groups * Rows, first = thread.thread_id() / groups;
        if(first >= step)
            return;
        int places[Rows];
        CKGEN_UNROLL
        for(int e = 0; e < Rows; ++e)
            places[e] = tile.place(row + e) + tile.skipped(row + e) * size;
        char* const target = tile.args.target + (tile.target + row) * size;
        for(int column = first * columns; column < tile.columns; column += step * columns) {
            uint32 pieces[Rows];
            CKGEN_UNROLL
            for(int e = 0; e < Rows; ++e)
                pieces[e] = thread.lds_load<Piece>(places[e] + column * size);
            CKGEN_UNROLL
            for(int c = 0; c < columns; ++c)
                store(target + (column + c) * tile.args.rows * size, pieces, c, thread);
        }
    }

    // Stores a vector of element number `c` of each piece.
    template <int Rows>
    static CKGEN_DEVICE void store(char* target, const uint32 (&pieces)[Rows], int c, const platform::Thread& thread) {
        if constexpr(Rows == 1) {
            thread.global_store(target, static_cast<Element>(pieces[0] >> 16 * c));
        } else {
            constexpr int words = Rows * size / 4;
            Vec<uint32, words> values;
            CKGEN_UNROLL
            for(int i = 0; i < words; ++i)
                if constexpr(size == 4)
                    values[i] = pieces[i];
                else
                    values[i] = c == 0 ? platform::merge_halves<false>(pieces[2 * i], pieces[2 * i + 1])
                                       : platform::merge_halves<true>(pieces[2 * i], pieces[2 * i + 1]);
            thread.global_store(target, values);
        }
    }
};

}  // namespace ckgen::load
