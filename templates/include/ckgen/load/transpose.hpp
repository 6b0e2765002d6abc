// Transposes matrices without gaps: images between PyTorch's default memory format and channels last.
//
// The copy is memory-bound. All global accesses are aligned vectors of 16 bytes, even if a row begins elsewhere: a
// thread reads the vectors that contain a part of a row of the tile and drops the elements outside, and it stores
// single elements where a vector of the result is only partly in the tile. In LDS an element takes a word, and a row
// one word more than it has elements, so that reading by columns meets other banks.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::load {

// From [images][rows][columns] to [images][columns][rows].
struct TransposeArgs {
    const char* source;  // both are aligned to 16 bytes
    char* target;
    int64 images, rows, columns;  // in elements
    uint32 row_tiles, column_tiles;
};

// Element: uint16 or uint32, for all types of that size.
template <class Element>
struct TransposeKernel {
    using Args = TransposeArgs;
    using Vector = Vec<uint32, 4>;
    static constexpr int size = static_cast<int>(sizeof(Element));
    static constexpr int width = 16 / size;
    static constexpr int edge = 64;         // rows and columns of a tile
    static constexpr int pitch = edge + 1;  // words of LDS per row of a tile
    static constexpr int launch_threads = 256;
    static constexpr int lds_bytes = edge * pitch * 4;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const uint32 tiles = args.row_tiles * args.column_tiles, tile = thread.block_id() % tiles;
        const int64 elements = args.rows * args.columns, image = thread.block_id() / tiles * elements;
        const int64 row = static_cast<int64>(tile / args.column_tiles) * edge;
        const int64 column = static_cast<int64>(tile % args.column_tiles) * edge;
        const int rows = part(args.rows - row), columns = part(args.columns - column);
        const Runs from{image + row * args.columns + column, args.columns, rows, columns};
        const Runs to{image + column * args.rows + row, args.rows, columns, rows};
        Vector values[steps];
        CKGEN_UNROLL
        for(int i = 0; i < steps; ++i)
            values[i] = load(args, thread, from.at(thread.thread_id() + i * launch_threads));
        CKGEN_UNROLL
        for(int i = 0; i < steps; ++i) {
            const Place place = from.at(thread.thread_id() + i * launch_threads);
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                if(place.has(e))
                    thread.lds_store((place.run * pitch + place.first + e) * 4, element(values[i], e));
        }
        thread.barrier();
        for(int i = thread.thread_id(); i < edge * to.vectors; i += launch_threads)
            store(args, thread, to.at(i));
    }

private:
    // Some elements of a vector: those of a run, which begin `-first` elements into the vector if `first` is negative.
    struct Place {
        int64 element;  // the vector's first one in memory
        int run, first, length;

        CKGEN_DEVICE bool has(int e) const { return first + e >= 0 && first + e < length; }
        CKGEN_DEVICE bool whole() const { return first >= 0 && first + width <= length; }
        CKGEN_DEVICE bool empty() const { return first >= length; }
    };

    // Runs of neighbouring elements, `stride` apart.
    struct Runs {
        int64 begin, stride;
        int count, length;
        int vectors;  // per run

        CKGEN_DEVICE Runs(int64 begin, int64 stride, int count, int length)
            : begin(begin), stride(stride), count(count), length(length),
              vectors(begin % width == 0 && stride % width == 0 ? edge / width : edge / width + 1) {}

        // The vector number `index`; an empty one after the last run.
        CKGEN_DEVICE Place at(int index) const {
            const int run = vectors == edge / width ? index / (edge / width) : index / (edge / width + 1);
            const int64 start = begin + run * stride, element = start / width * width + (index - run * vectors) * width;
            return {element, run, static_cast<int>(element - start), run < count ? length : -width};
        }
    };

    static constexpr int steps = (edge * (edge / width + 1) + launch_threads - 1) / launch_threads;

    static CKGEN_DEVICE int part(int64 rest) { return rest < edge ? static_cast<int>(rest) : edge; }

    static CKGEN_DEVICE uint32 element(const Vector& values, int e) {
        return static_cast<Element>(values[e * size / 4] >> (8 * (e * size % 4)));
    }

    static CKGEN_DEVICE Vector load(const Args& args, const platform::Thread& thread, const Place& place) {
        Vector values{};
        if(place.empty())
            return values;
        const char* const source = args.source + place.element * size;
        if(place.element + width <= args.images * args.rows * args.columns)
            return thread.global_load<Vector>(source);
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            if(place.has(e))
                values[e * size / 4] |= static_cast<uint32>(thread.global_load<Element>(source + e * size))
                                        << (8 * (e * size % 4));
        return values;
    }

    // Stores a vector of a run of the target, whose elements are a column of the tile.
    static CKGEN_DEVICE void store(const Args& args, const platform::Thread& thread, const Place& place) {
        if(place.empty())
            return;
        char* const target = args.target + place.element * size;
        const auto read = [&](int e) { return thread.lds_load<uint32>(((place.first + e) * pitch + place.run) * 4); };
        if(place.whole()) {
            Vector values{};
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e * size / 4] |= read(e) << (8 * (e * size % 4));
            thread.global_store(target, values);
            return;
        }
        CKGEN_UNROLL
        for(int e = 0; e < width; ++e)
            if(place.has(e))
                thread.global_store(target + e * size, static_cast<Element>(read(e)));
    }
};

}  // namespace ckgen::load
