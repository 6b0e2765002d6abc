// Copied by ckgen from templates/include/ckgen/load/repack.hpp. Do not edit; run: ckgen generate
// Copies a tensor, as elements of 16 bits, into rows that start at multiples of 16 bytes, as TMA requires. The copy is
// memory-bound: every access is 16 bytes wide, and neighbouring threads access neighbouring vectors. A row of the
// source may start anywhere, so a thread reads the two aligned vectors that contain its eight elements and shifts them
// into place. The second vector is the first of the neighbouring thread and comes from the cache.
#pragma once

#include "ckgen/conv/repack_args.hpp"
#include "ckgen/load/shifted_slot.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

struct RepackKernel {
    using Args = RepackArgs;
    using Vector = Vec<uint32, 4>;  // 8 elements
    static constexpr int width = 8;
    static constexpr int launch_threads = 256;
    static constexpr int vectors_per_thread = 4;
    static constexpr int vectors_per_block = launch_threads * vectors_per_thread;
    static constexpr int lds_bytes = 16;  // unused; an empty array would not be C++

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const uint32 group_vectors = static_cast<uint32>(args.pitch / width);
        const uint32 row_vectors = static_cast<uint32>(args.groups) * group_vectors;
        const int64 first = static_cast<int64>(thread.block_id()) * vectors_per_block;
        const int64 row = first / row_vectors;  // one 64-bit division; the rest fits 32 bits
        const uint32 column = static_cast<uint32>(first - row * row_vectors);
        Vector low[vectors_per_thread];
        Vector high[vectors_per_thread];
        Place places[vectors_per_thread];
        CKGEN_UNROLL
        for(int i = 0; i < vectors_per_thread; ++i) {
            const uint32 index = column + static_cast<uint32>(i * launch_threads + thread.thread_id());
            places[i].seek(args, row + index / row_vectors, index % row_vectors, group_vectors);
            const int64 aligned = places[i].element / width * width;
            low[i] = load(args, thread, aligned, places[i].columns > 0);
            high[i] = load(args, thread, aligned + width, places[i].columns > 0 && places[i].shift > 0);
        }
        CKGEN_UNROLL
        for(int i = 0; i < vectors_per_thread; ++i) {
            const int64 vector = first + i * launch_threads + thread.thread_id();
            if(places[i].inside)
                thread.global_store(args.target + vector * 16,
                                    shifted(low[i], high[i], places[i].shift, places[i].columns));
        }
    }

private:
    // The source of one vector of the target: its first element, which is `shift` past a multiple of eight, and the
    // number of elements from there on that belong to the row; 0 if the vector is padding only.
    struct Place {
        int64 element;
        int shift;
        int columns;
        bool inside;

        CKGEN_DEVICE void seek(const Args& args, int64 position, uint32 vector, uint32 group_vectors) {
            const uint32 group = vector / group_vectors;
            const int column = static_cast<int>(vector - group * group_vectors) * width;
            element = position * args.position_stride + group * args.group_stride + column;
            shift = static_cast<int>(element % width);
            inside = position < args.positions;
            columns = inside ? args.columns - column : 0;
        }
    };

    // An aligned vector of the source; elements after its end read as zero.
    static CKGEN_DEVICE Vector load(const Args& args, const platform::Thread& thread, int64 element, bool wanted) {
        Vector values{};
        if(!wanted)
            return values;
        const int64 offset = element * 2;
        if(offset + 16 <= args.source_bytes)
            return thread.global_load<Vector>(args.source + offset);
        for(int i = 0; i < width; ++i)
            if(offset + 2 * i + 2 <= args.source_bytes)
                values[i / 2] |= static_cast<uint32>(thread.global_load<uint16>(args.source + offset + 2 * i))
                                 << (16 * (i % 2));
        return values;
    }

    // Elements shift..shift+7 of the sixteen in low and high. The first `columns` are kept, the others are zero.
    static CKGEN_DEVICE Vector shifted(const Vector& low, const Vector& high, int shift, int columns) {
        Vector result = shifted_slot(low, high, shift);
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i)
            result[i] = columns >= 2 * i + 2 ? result[i] : columns == 2 * i + 1 ? result[i] & 0xffffu : 0u;
        return result;
    }
};

}  // namespace ckgen::conv
