// Family depthwise of backward weight. A thread sums the products of row_taps taps of one filter row over its strips of
// output positions; the threads of a workgroup have several such parts of the filter side by side. At the end their
// sums are added in LDS in a fixed order. The grid's splits are added by the split-K reduction.
#pragma once

#include "ckgen/conv/depthwise.hpp"
#include "ckgen/pipeline/depthwise.hpp"

namespace ckgen::pipeline {

struct DepthwiseBwdWeightArgs {
    conv::BwdWeightArgs problem;
    conv::DepthwiseWork work;
};

template <class D>
class DepthwiseBwdWeightKernel {
    static constexpr int ndim = D::Layout::ndim, last = ndim - 1;
    static constexpr int vector = D::a_vector, positions = D::thread_positions;
    static constexpr int row_taps = D::m_per_block;
    using Strips = DepthwiseStrips<ndim>;
    using Units = conv::Walk<ndim + 1>;  // output channel of the group, outer taps, part of the filter row

public:
    using Args = DepthwiseBwdWeightArgs;
    static constexpr int dimensions = ndim;
    static constexpr conv::DepthwiseLimits limits{vector, D::n_per_block, row_taps, positions, D::position_threads};
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static_assert(launch_threads * vector * 4 <= lds_bytes, "the sums of a tap");

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        DepthwiseBwdWeightKernel kernel(args, thread);
        float sums[row_taps][vector] = {};
        kernel.add_strips(sums);
        kernel.add_threads(sums);
    }

private:
    CKGEN_DEVICE DepthwiseBwdWeightKernel(const Args& args, const platform::Thread& thread)
        : args_(args), problem_(args.problem), thread_(thread), mine_(thread),
          position_threads_(D::position_threads / args.work.unit_groups), strip_(mine_.position / args.work.unit_groups) {
        uint32 block = thread.block_id();
        const auto channel_blocks = static_cast<uint32>(problem_.group_tiles);
        const auto unit_blocks = static_cast<uint32>(problem_.m_tiles);
        first_group_ = static_cast<int>(block % channel_blocks) * D::n_per_block;
        block /= channel_blocks;
        first_unit_ = static_cast<int>(block % unit_blocks) * args.work.unit_groups;
        split_ = static_cast<int>(block / unit_blocks);
        group_ = first_group_ + mine_.lane * vector;
        unit_length_[0] = problem_.m;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            unit_length_[d + 1] = d < last ? problem_.filter[d] : ceil_div(problem_.filter[d], row_taps);
        unit_ = Units(unit_length_, first_unit_ + mine_.position % args.work.unit_groups);
    }

    CKGEN_DEVICE void add_strips(float (&sums)[row_taps][vector]) const {
        const int images = problem_.k / positions_of_image();
        const Strips strips(images, problem_.out_length, args_.work.dilation, positions);
        using Place = typename Strips::Place;
        const int first = split_ * args_.work.rounds * position_threads_;
        Place base(strips.length, first);
        Place place(strips.length, first + strip_);
        const Place step(strips.length, position_threads_);
        const bool mine = group_ < problem_.groups && unit_.at[0] < problem_.m && strip_ < position_threads_;
        for(int round = 0; round < args_.work.rounds && base.at[0] < images; ++round) {
            if(mine && place.at[0] < images)
                add_strip(strips, base, place, sums);
            base.advance(strips.length, step);
            place.advance(strips.length, step);
        }
    }

    CKGEN_DEVICE int positions_of_image() const {
        int count = 1;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            count *= problem_.out_length[d];
        return count;
    }
    CKGEN_DEVICE void add_strip(const Strips& strips, const typename Strips::Place& base,
                                const typename Strips::Place& place, float (&sums)[row_taps][vector]) const {
        const int64 out_image = int64{problem_.out_row_bytes} * positions_of_image();
        const platform::GlobalBuffer out(problem_.out + base.at[0] * out_image, platform::kMaxWindowBytes);
        const platform::GlobalBuffer in(problem_.in + base.at[0] * problem_.in_image_bytes, platform::kMaxWindowBytes);
        const int image = place.at[0] - base.at[0];
        uint32 in_byte = static_cast<uint32>(image * problem_.in_image_bytes + group_ * problem_.in_group_bytes);
        uint32 row = static_cast<uint32>(image);
        bool inside = true;
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d) {
            const int position =
                place.at[d + 1] * problem_.stride[d] + unit_.at[d + 1] * problem_.dilation[d] - problem_.pad[d];
            inside = inside && is_inside(position, problem_.in_length[d]);
            in_byte += static_cast<uint32>(position) * static_cast<uint32>(problem_.in_stride_bytes[d]);
            row = row * static_cast<uint32>(problem_.out_length[d]) + static_cast<uint32>(place.at[d + 1]);
        }
        if(!inside)
            return;
        const int first = strips.first(place);
        row = row * static_cast<uint32>(problem_.out_length[last]) + static_cast<uint32>(first);
        const uint32 out_byte =
            row * static_cast<uint32>(problem_.out_row_bytes) +
            static_cast<uint32>(group_ * problem_.out_group_bytes) +
            static_cast<uint32>(unit_.at[0]) * static_cast<uint32>(sizeof(typename D::Out));
        const int in_first =
            first * problem_.stride[last] + unit_.at[ndim] * row_taps * problem_.dilation[last] - problem_.pad[last];
        const auto in_pitch = static_cast<uint32>(problem_.in_stride_bytes[last]);
        const Row line{in_byte + static_cast<uint32>(in_first) * in_pitch,
                       static_cast<uint32>(problem_.dilation[last]) * in_pitch,
                       out_byte,
                       static_cast<uint32>(args_.work.dilation) * static_cast<uint32>(problem_.out_row_bytes),
                       in_first,
                       ceil_div(problem_.out_length[last] - first, strips.distance)};
        if(args_.work.stride == 1)
            add_row<1>(in, out, line, sums);
        else if(args_.work.stride == 2)
            add_row<2>(in, out, line, sums);
        else
            for(int i = 0; i < positions; ++i)
                add_position(in, out, line, i, sums);
    }

    // The part of an input and of an output row that a strip reads: bytes of the first position, and from one to the
    // next.
    struct Row {
        uint32 in, in_pitch;
        uint32 out, out_pitch;
        int first;      // input position of the first tap
        int positions;  // of the output, from the first on
    };

    using Out = Vec<typename D::Out, vector>;
    using In = Vec<typename D::In, vector>;

    CKGEN_DEVICE In load_in(const platform::GlobalBuffer& in, const Row& row, int i) const {
        return in.template load_if<In>(thread_,
                                       is_inside(row.first + i * problem_.dilation[last], problem_.in_length[last]),
                                       row.in + static_cast<uint32>(i) * row.in_pitch);
    }
    CKGEN_DEVICE Out load_out(const platform::GlobalBuffer& out, const Row& row, int i) const {
        return out.template load_if<Out>(thread_, i < row.positions, row.out + static_cast<uint32>(i) * row.out_pitch);
    }
    static CKGEN_DEVICE void multiply(const In& in, const Out& out, float (&sums)[vector]) {
        CKGEN_UNROLL
        for(int e = 0; e < vector; ++e)
            sums[e] += to_float(in[e]) * to_float(out[e]);
    }

    // Positions are Stride taps apart in the input.
    template <int Stride>
    CKGEN_DEVICE void add_row(const platform::GlobalBuffer& in, const platform::GlobalBuffer& out, const Row& row,
                              float (&sums)[row_taps][vector]) const {
        constexpr int window = (positions - 1) * Stride + row_taps;
        Out outs[positions];
        In ins[window];
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i)
            outs[i] = load_out(out, row, i);
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i)
            ins[i] = load_in(in, row, i);
        // A position past the last is not multiplied by zero: the input under it may be infinite.
        if(row.positions >= positions) {
            CKGEN_UNROLL
            for(int i = 0; i < positions; ++i)
                CKGEN_UNROLL
            for(int tap = 0; tap < row_taps; ++tap)
                multiply(ins[i * Stride + tap], outs[i], sums[tap]);
        } else {
            CKGEN_UNROLL
            for(int i = 0; i < positions; ++i)
                if(i < row.positions) {
                    CKGEN_UNROLL
                    for(int tap = 0; tap < row_taps; ++tap)
                        multiply(ins[i * Stride + tap], outs[i], sums[tap]);
                }
        }
    }
    // One position, for all other strides.
    CKGEN_DEVICE void add_position(const platform::GlobalBuffer& in, const platform::GlobalBuffer& out, const Row& row,
                                   int i, float (&sums)[row_taps][vector]) const {
        if(i >= row.positions)
            return;
        const Out value = load_out(out, row, i);
        CKGEN_UNROLL
        for(int tap = 0; tap < row_taps; ++tap)
            multiply(load_in(in, row, i * args_.work.stride + tap), value, sums[tap]);
    }

    // Adds the sums of all threads of a unit and a channel, and stores them.
    CKGEN_DEVICE void add_threads(const float (&sums)[row_taps][vector]) const {
        CKGEN_UNROLL
        for(int tap = 0; tap < row_taps; ++tap) {
            thread_.barrier();
            Vec<float, vector> values;
            CKGEN_UNROLL
            for(int e = 0; e < vector; ++e)
                values[e] = sums[tap][e];
            store_lds(thread_.thread_id() * vector, values);
            thread_.barrier();
            for(int i = thread_.thread_id(); i < args_.work.unit_groups * D::n_per_block; i += launch_threads)
                store_sum(i / D::n_per_block, i % D::n_per_block, tap);
        }
    }
    CKGEN_DEVICE void store_lds(int element, const Vec<float, vector>& values) const {
        constexpr int width = min_of(vector, 4);
        CKGEN_UNROLL
        for(int first = 0; first < vector; first += width) {
            Vec<float, width> part;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                part[e] = values[first + e];
            thread_.lds_store((element + first) * 4, part);
        }
    }
    // `unit` and `channel` are those of the workgroup.
    CKGEN_DEVICE void store_sum(int unit, int channel, int tap) const {
        const Units at(unit_length_, first_unit_ + unit);
        const int column = at.at[ndim] * row_taps + tap;
        if(at.at[0] >= problem_.m || column >= problem_.filter[last] || first_group_ + channel >= problem_.groups)
            return;
        float total = 0.f;
        for(int i = 0; i < position_threads_; ++i)
            total += thread_.template lds_load<float>(((i * args_.work.unit_groups + unit) * D::n_per_block + channel) * 4);
        int64 element = static_cast<int64>(first_group_ + channel) * problem_.m + at.at[0];
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d)
            element = element * problem_.filter[d] + at.at[d + 1];
        element = element * problem_.filter[last] + column;
        if(problem_.partial != nullptr)
            thread_.global_store(problem_.partial + split_ * problem_.groups * problem_.wei_group_elements + element,
                                 total);
        else
            thread_.global_store(reinterpret_cast<typename D::Wei*>(problem_.wei) + element,
                                 Convert<typename D::Wei>::from(total));
    }

    const Args& args_;
    const conv::BwdWeightArgs& problem_;
    const platform::Thread& thread_;
    const DepthwiseThread<D> mine_;
    const int position_threads_;  // threads that share the strips of a unit
    const int strip_;             // of the first round
    int first_group_, group_, first_unit_, split_;
    int32 unit_length_[ndim + 1];
    Units unit_;
};

}  // namespace ckgen::pipeline
