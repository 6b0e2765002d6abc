// Copied by ckgen from templates/include/ckgen/load/weight_copy.hpp. Do not edit; run: ckgen generate
// Copies a weight whose channels come first (GKCYX) to one whose channels come last (GKYXC). Neighbouring threads read
// neighbouring taps and write neighbouring channels; between the two, the elements of a tile are in LDS, each in a
// word. Channels there are an odd number of words apart, so that those of one tap are in different banks.
#pragma once

#include "ckgen/atom/tf32_parts.hpp"
#include "ckgen/conv/weight_copy_args.hpp"
#include "ckgen/platform/platform.hpp"

namespace ckgen::conv {

// T: an unsigned integer of an element's size. Parts: args.parts.
template <class T, int Parts = 1>
struct WeightCopyKernel {
    using Args = WeightCopyArgs;
    static constexpr int launch_threads = kWeightCopyThreads;
    static constexpr int lds_bytes = kWeightCopyElements * 4;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        const uint32 tap_tiles = static_cast<uint32>(ceil_div(args.target_taps, args.tile_taps));
        const uint32 tiles = static_cast<uint32>(ceil_div(args.pitch, args.tile_channels)) * tap_tiles;
        const uint32 block = thread.block_id();
        const uint32 row_block = block / tiles, tile = block - row_block * tiles;
        const uint32 channel_tile = tile / tap_tiles;
        Tile part;
        part.first_channel = static_cast<int>(channel_tile) * args.tile_channels;
        part.first_tap = static_cast<int>(tile - channel_tile * tap_tiles) * args.tile_taps;
        part.columns = min_of(args.tile_channels, args.pitch - part.first_channel);
        part.taps = min_of(args.tile_taps, args.taps - part.first_tap);
        part.target_taps = min_of(args.tile_taps, args.target_taps - part.first_tap);
        part.pitch = args.tile_taps | 1;
        for(int64 row = row_block; row < args.rows; row += args.row_blocks) {
            const int piece = static_cast<int>(row % args.pieces);
            const int channels = piece == args.pieces - 1 ? args.last_channels : args.channels;
            part.channels = min_of(args.tile_channels, channels - part.first_channel);
            read(args, thread, part, row);
            thread.barrier();
            write(args, thread, part, row);
            thread.barrier();
        }
    }

private:
    static constexpr int in_flight = 4;  // loads of a thread

    struct Tile {
        int first_channel, first_tap;
        int channels, columns;  // columns: with the zeros after the channels
        int taps, target_taps;
        int pitch;  // words of LDS from one channel to the next
    };

    // The place of a thread's elements in a matrix with `columns` columns; the next is launch_threads elements further.
    struct Place {
        int row, column;

        CKGEN_DEVICE Place(int number, int columns) : columns_(columns) {
            row = divide(number, columns);
            column = number - row * columns;
            rows_ = divide(launch_threads, columns);
            rest_ = launch_threads - rows_ * columns;
        }
        CKGEN_DEVICE void next() {
            column += rest_;
            const int carry = column >= columns_ ? 1 : 0;
            column -= carry * columns_;
            row += rows_ + carry;
        }

    private:
        static CKGEN_DEVICE int divide(int a, int b) {
            return static_cast<int>(static_cast<uint32>(a) / static_cast<uint32>(b));
        }
        int columns_, rows_, rest_;
    };

    static CKGEN_DEVICE void read(const Args& args, const platform::Thread& thread, const Tile& tile, int64 row) {
        const int64 lacking = row / args.pieces * (args.channels - args.last_channels);
        const int64 first = (row * args.channels - lacking + tile.first_channel) * args.taps + tile.first_tap;
        const char* source = args.source + first * static_cast<int64>(sizeof(T));
        Place place(thread.thread_id(), args.tile_taps);  // channel, tap
        while(place.row < tile.channels) {
            T values[in_flight]{};
            int places[in_flight];
            CKGEN_UNROLL
            for(int i = 0; i < in_flight; ++i) {
                const bool inside = place.row < tile.channels && place.column < tile.taps;
                places[i] = inside ? place.row * tile.pitch + place.column : -1;
                if(inside)
                    values[i] = thread.template global_load<T>(
                        source +
                        (static_cast<int64>(place.row) * args.taps + place.column) * static_cast<int64>(sizeof(T)));
                place.next();
            }
            CKGEN_UNROLL
            for(int i = 0; i < in_flight; ++i)
                if(places[i] >= 0)
                    thread.lds_store(places[i] * 4, static_cast<uint32>(values[i]));
        }
    }

    static CKGEN_DEVICE void write(const Args& args, const platform::Thread& thread, const Tile& tile, int64 row) {
        const int64 first = (row * args.target_taps + tile.first_tap) * args.pitch + tile.first_channel;
        char* target = args.target + first * static_cast<int64>(sizeof(T));
        for(Place place(thread.thread_id(), args.tile_channels); place.row < tile.target_taps; place.next()) {
            if(place.column >= tile.columns)
                continue;
            const int at = (place.column * tile.pitch + place.row) * 4;
            const bool inside = place.column < tile.channels && place.row < tile.taps;
            const uint32 value = inside ? thread.template lds_load<uint32>(at) : 0;
            char* const element =
                target + (static_cast<int64>(place.row) * args.pitch + place.column) * static_cast<int64>(sizeof(T));
            if constexpr(Parts == 1) {
                thread.global_store(element, static_cast<T>(value));
            } else {
                const uint32 values[1][1] = {{value}};
                const atom::Tf32Parts<1, 1> parts(values);
                thread.global_store(element, parts.high[0][0]);
                thread.global_store(element + args.target_elements() * static_cast<int64>(sizeof(T)), parts.low[0][0]);
            }
        }
    }
};

}  // namespace ckgen::conv
