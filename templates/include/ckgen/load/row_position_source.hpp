// The output of backward data in vectors of positions that taps shift. Rows of an image are counted as a whole number
// of vectors, so that under every tap and stride a vector reads neighbouring positions of one row of the output; the
// epilogue leaves out what lies past the row's end. Of a vector, the elements in the row are an interval.
#pragma once

#include "ckgen/block/row_end_copy.hpp"
#include "ckgen/load/position_source.hpp"

namespace ckgen::conv {

template <class Base, bool OneEnd, int NDim, int KPerBlock>
class PositionSource<block::RowEndCopy<Base, OneEnd>, NDim, KPerBlock, false>
    : public PlanePositionSource<block::RowEndCopy<Base, OneEnd>, NDim, KPerBlock> {
    using Copy = block::RowEndCopy<Base, OneEnd>;
    using Planes = PlanePositionSource<Copy, NDim, KPerBlock>;
    static constexpr int last = NDim - 1;
    static constexpr int vector = Copy::column_vector;
    static constexpr int element_bytes = sizeof(typename Copy::T);

public:
    CKGEN_DEVICE PositionSource(const platform::Thread& thread, int id, const BwdDataArgs& args,
                                const BwdDataTile<NDim>& tile, const TapTiles<NDim>& taps)
        : Planes(thread, id, args, tile, taps) {
        room_ = -vector * element_bytes + element_bytes;
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            in_plane_ += static_cast<uint32>(this->position_[d]) * static_cast<uint32>(args.out_stride_bytes[d]);
            room_ += (args.out_length[d] - 1) * static_cast<int32>(args.out_stride_bytes[d]);
        }
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        Planes::load(thread, registers);
        CKGEN_UNROLL
        for(int end = 0; end < Copy::ends; ++end)
            registers.ends[end] = ends_[end];
        registers.all_same = one_tap_;
    }

    template <bool OneTap, bool Merges>
    CKGEN_DEVICE void refresh(const BwdDataArgs& args, const BwdDataTile<NDim>& tile,
                              const TileChannels<Merges>& channels, const TapTiles<NDim>& taps) {
        const int left = channels.k(args) - taps.chunk * KPerBlock;
        one_tap_ = OneTap;
        Seen seen{};
        Walk<NDim> tap = taps.tap;
        int next_tap = args.tap_rows;  // first row of the tap after it
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice) {
            if constexpr(!OneTap && !tap_is_uniform) {
                seen = see(args, this->ahead_[slice].template tap<OneTap>(tile, taps));
            } else if(slice == 0 || (!OneTap && slice * Copy::slice_rows >= next_tap)) {
                if(slice > 0) {
                    tap.advance(tile.taps, one_further());
                    next_tap += args.tap_rows;
                }
                seen = see(args, tap);
            }
            ends_[Copy::end_of(slice)] = seen.end;
            Planes::template set_offsets<OneTap>(args, slice, seen.bytes, seen.any ? left : 0);
        }
    }

private:
    // A slice has rows of one tap: a tap's rows are a multiple of an LDS slot.
    static constexpr bool tap_is_uniform = Copy::Layout::k1 % Copy::slice_rows == 0;

    static CKGEN_DEVICE Walk<NDim> one_further() {
        Walk<NDim> step{};
        step.at[last] = 1;
        return step;
    }

    // The vector under one tap.
    struct Seen {
        bool any;      // it has elements in the output
        uint32 bytes;  // where it is loaded in channel 0 of the tile
        block::RowEnd end;
    };
    CKGEN_DEVICE Seen see(const BwdDataArgs& args, const Walk<NDim>& tap) const {
        uint32 back_bytes = 0;
        bool any = tap.at[0] < this->end_;
        int first = 0;  // position of the vector's first element in the row
        CKGEN_UNROLL
        for(int d = 0; d < NDim; ++d) {
            const int back = args.shift[d] * tap.at[d];
            back_bytes += static_cast<uint32>(back) * static_cast<uint32>(args.out_stride_bytes[d]);
            first = this->position_[d] - back;
            const int before = d == last ? vector - 1 : 0;
            any = any & (static_cast<uint32>(first + before) < static_cast<uint32>(args.out_length[d] + before));
        }
        // The vector is loaded from inside the plane.
        const auto wanted = static_cast<int32>(in_plane_ - back_bytes);
        const int32 moved = any ? wanted - max_of(0, min_of(room_, wanted)) : 0;
        return {any, this->column_bytes_ - back_bytes - static_cast<uint32>(moved),
                block::RowEnd(vector, -first, args.out_length[last] - first, moved / element_bytes)};
    }

    uint32 in_plane_ = 0;  // bytes from the plane's first element to the output position under tap 0
    int32 room_;           // to the last vector of the plane
    block::RowEnd ends_[Copy::ends];
    bool one_tap_ = true;  // per tile
};

template <class Copy, bool HasRowEnds, bool OneTap>
struct WithRowEnds {
    using type = Copy;
};
template <class Copy, bool OneTap>
struct WithRowEnds<Copy, true, OneTap> {
    using type = block::RowEndCopy<Copy, OneTap>;
};
template <class Copy, bool HasRowEnds, bool OneTap>
using RowEndCopyIf = typename WithRowEnds<Copy, HasRowEnds, OneTap>::type;

}  // namespace ckgen::conv
