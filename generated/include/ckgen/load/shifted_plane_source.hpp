// Copied by ckgen from templates/include/ckgen/load/shifted_plane_source.hpp. Do not edit; run: ckgen generate
// The input of a convolution whose output is as large as the input, with stride 1, in vectors of positions. Channels
// are planes of contiguous positions, so that a tap shifts all positions of an image by the same number of bytes, also
// from one row of the image to the next: a vector of output positions reads a vector of the input, except where the
// tap sees padding.
//
// The padding of a tap is the same gap in each row of the image. A thread has the rows of one slot, at most eight, so
// that the elements to clear follow from the distance to the gap: a few vector instructions per column and tile,
// instead of a comparison per element.
#pragma once

#include "ckgen/block/shifted_slot_copy.hpp"
#include "ckgen/load/im2col_source.hpp"

namespace ckgen::conv {

template <class Copy, int NDim, class Order>
class ShiftedPlaneSource : PlaneSource<Copy> {
    using Planes_ = PlaneSource<Copy>;
    static constexpr int run = Copy::Layout::k1;  // rows of a thread
    static constexpr int vector_bytes = Copy::vector * static_cast<int>(sizeof(typename Copy::T));
    static constexpr int last = NDim - 1;

public:
    CKGEN_DEVICE ShiftedPlaneSource(const platform::Thread& thread, int id, const BwdWeightArgs& args, const char* base,
                                    int first_row, int first_column, int channels)
        : Planes_(thread, id, {args.in_image_bytes, args.in_row_bytes, args.in_channel_bytes, args.out_positions}, base,
                  args.k, 0, first_row, 0),
          first_(base), extent_(extent(args, channels)), reach_(args.in_reach_bytes) {
        int period = 1;
        CKGEN_UNROLL
        for(int d = last; d >= 0; --d) {
            period *= args.out_length[d];
            period_[d] = period;
            step_[d] = thread.uniform(Copy::k_per_block % period);
            place_[d] = this->position_ % period;
        }
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            set_column(args, slice, first_column + Copy::column_of(id, slice), channels);
    }

    CKGEN_DEVICE void load(const platform::Thread& thread, typename Copy::Registers& registers) const {
        // Vectors are loaded from inside the group's tensor only.
        const char* const base = this->base_ - reach_;
        const int64 before = first_ - base, after = before + extent_ - vector_bytes;
        const int32 low = before < 0 ? 0 : before > kFarthest ? kFarthest : static_cast<int32>(before);
        const int32 high = after < 0 ? -1 : after > kFarthest ? kFarthest : static_cast<int32>(after);
        const platform::GlobalBuffer window(base, high < 0 ? 0u : static_cast<uint32>(high + vector_bytes));
        const uint32 after_last = from(this->rows_left_);
        CKGEN_UNROLL
        for(int slice = 0; slice < Copy::slices; ++slice)
            registers.padding[slice] = after_last | inner_padding(slice);
        uint32 offset = this->offset_;
        int position = this->position_;
        CKGEN_UNROLL
        for(int part = 0; part < Copy::parts; ++part) {
            CKGEN_UNROLL
            for(int slice = 0; slice < Copy::slices; ++slice) {
                const auto wanted = static_cast<int32>(offset + column_[slice]);
                const int32 at = max_of(low, min_of(high, wanted));
                registers.moved[slice][part] = wanted - at;
                Copy::fetch(thread, window, static_cast<uint32>(at), registers, slice, part);
                if constexpr(NDim > 1)
                    registers.padding[slice] |= outer_padding(slice, part, position);
            }
            position += Copy::vector;
            offset += static_cast<uint32>(Copy::vector * this->row_bytes_);
            const bool over = position >= this->positions_;
            position -= over ? this->positions_ : 0;
            offset += over ? static_cast<uint32>(this->wrap_) : 0u;
        }
    }
    CKGEN_DEVICE void advance(const platform::Thread& thread) {
        Planes_::advance(thread);
        CKGEN_UNROLL
        for(int d = 0; d <= last; ++d)
            place_[d] = modulo(place_[d] + step_[d], period_[d]);
    }

private:
    static constexpr int32 kFarthest = 1 << 30;

    // The bytes of the group, or of the merged groups that exist.
    static CKGEN_DEVICE int64 extent(const BwdWeightArgs& args, int channels) {
        const int missing = channels == kAllChannels ? 0 : args.c - channels;
        return args.in_extent_bytes - static_cast<int64>(missing) * args.in_channel_bytes;
    }

    // `value`, which is in [-period, period) or in [0, 2 * period), modulo the period.
    static CKGEN_DEVICE uint32 wrapped(uint32 value, uint32 other) { return value < other ? value : other; }
    static CKGEN_DEVICE int modulo(int sum, int period) {
        return static_cast<int>(wrapped(static_cast<uint32>(sum), static_cast<uint32>(sum - period)));
    }
    // All bits from row `first` of a thread on, or from row `first` of `most`.
    static CKGEN_DEVICE uint32 from(int first, int most = run) { return ~0u << max_of(0, min_of(first, most)); }

    // Sets the place and the gaps of one of the thread's columns.
    CKGEN_DEVICE void set_column(const BwdWeightArgs& args, int slice, int column, int channels) {
        const int taps = args.n / args.c;
        const int outer = column / (Order::taps_fastest ? taps : args.c);
        const int inner = column - outer * (Order::taps_fastest ? taps : args.c);
        const int channel = Order::taps_fastest ? outer : inner;
        const Tap<NDim> tap(args, Order::taps_fastest ? inner : outer);
        column_[slice] = tap.offset(args) + static_cast<uint32>(channel) * static_cast<uint32>(args.in_channel_bytes) +
                         static_cast<uint32>(reach_);
        const bool exists = column < args.n && (channels == kAllChannels || channel < channels);
        dead_[slice] = exists ? 0u : ~0u;
        int inside = 1;  // positions of an index of the dimension
        CKGEN_UNROLL
        for(int d = last; d >= 0; --d) {
            const int far = tap.shift[d] < 0 ? -tap.shift[d] : tap.shift[d];
            gap_[slice][d] = min_of(far, args.out_length[d]) * inside;
            start_[slice][d] = tap.shift[d] > 0 ? period_[d] - gap_[slice][d] : 0;
            inside = period_[d];
        }
        pattern_[slice] = 0;
        const int gap = gap_[slice][last];
        const uint32 ones = gap >= 32 ? ~0u : (1u << gap) - 1u;
        for(int at = 0; at < 32; at += period_[last])
            pattern_[slice] |= ones << at;
    }

    // Bit i: row i sees padding in a dimension other than the outermost. Rows may pass the end of an image.
    CKGEN_DEVICE uint32 inner_padding(int slice) const {
        uint32 padding = dead_[slice];
        CKGEN_UNROLL
        for(int d = NDim > 1 ? 1 : 0; d <= last; ++d) {
            const auto from_gap = static_cast<uint32>(place_[d] - start_[slice][d]);
            const auto period = static_cast<uint32>(period_[d]);
            const uint32 in_period = wrapped(from_gap, from_gap + period);
            const uint32 to_next = period - in_period;
            if(d == last) {
                padding |= pattern_[slice] >> min_of(in_period, 31u) | pattern_[slice] << min_of(to_next, 31u);
            } else {
                const auto next = static_cast<int>(to_next);
                padding |=
                    ~from(gap_[slice][d] - static_cast<int>(in_period)) | (from(next) ^ from(next + gap_[slice][d]));
            }
        }
        return padding;
    }
    // The same for the outermost dimension and the rows of one part, which lie in one image.
    CKGEN_DEVICE uint32 outer_padding(int slice, int part, int position) const {
        const int first = start_[slice][0] - position;
        return (from(first, Copy::vector) ^ from(first + gap_[slice][0], Copy::vector)) << part * Copy::vector;
    }

    const char* first_;  // element of the group
    int64 extent_, reach_;
    int period_[NDim];              // positions after which a dimension repeats
    int step_[NDim], place_[NDim];  // of the thread's first row in the period
    uint32 column_[Copy::slices];   // bytes of tap and channel
    uint32 dead_[Copy::slices];     // all ones: the column does not exist
    uint32 pattern_[Copy::slices];  // innermost dimension: bits of the positions from the gap on
    int gap_[Copy::slices][NDim], start_[Copy::slices][NDim];  // of the positions that see padding
};

}  // namespace ckgen::conv
