// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_depthwise.hpp. Do not edit; run: ckgen generate
// Family depthwise of backward data. A workgroup computes positions of one residue of the strides, which the same taps
// reach (conv/bwd_data_args.hpp), of n_per_block groups. Their weights pass through LDS; every thread reads the output
// from global memory, where the taps of a strip share values.
#pragma once

#include "ckgen/conv/depthwise.hpp"
#include "ckgen/epilogue/fused_output.hpp"
#include "ckgen/pipeline/depthwise.hpp"

namespace ckgen::pipeline {

template <class D>
struct DepthwiseBwdDataArgs {
    typename D::KernelArgs problem;
    conv::DepthwiseStripWork work;
};

// A thread's view of its problem, and the steps that all kernels have in common.
template <class D>
class DepthwiseBwdDataTile {
protected:
    static constexpr int ndim = D::Layout::ndim, last = ndim - 1;
    static constexpr int vector = D::a_vector, positions = D::thread_positions;
    static constexpr int row_taps = D::m_per_block;          // taps of a filter row that are multiplied at once
    static constexpr int window = positions + row_taps - 1;  // output positions that they read for a strip
    static constexpr int unit_weights = row_taps * D::n_per_block;
    using Args = DepthwiseBwdDataArgs<D>;
    using Strips = DepthwiseStrips<ndim>;
    using Wei = typename D::Wei;
    using Units = conv::Walk<ndim + 1>;  // channel K of the group, outer taps, part of the filter row
    using Values = typename RawValues<typename D::Out, vector>::Type;

    // A box of units. `end` is the first index after it in each dimension.
    struct Box {
        int32 end[ndim + 1], length[ndim + 1];  // lengths are divisors: at least 1
        int units;

        CKGEN_DEVICE Units at(int unit) const {
            Units found(length, unit);
            CKGEN_UNROLL
            for(int d = 1; d <= ndim; ++d)
                found.at[d] += end[d] - length[d];
            return found;
        }
    };

    CKGEN_DEVICE DepthwiseBwdDataTile(const Args& args, const platform::Thread& thread)
        : args_(args), problem_(&thread.reload_kernel_args(args).problem), thread_(thread), mine_(thread) {
        uint32 block = thread.block_id();
        first_group_ = conv::take(block, args.work.channel_blocks) * D::n_per_block;
        share_ = conv::take(block, args.work.shares);
        group_ = first_group_ + mine_.lane * vector;
        CKGEN_UNROLL
        for(int d = last; d >= 0; --d) {
            start_[d] = conv::take(block, min_of(problem_->stride[d], problem_->in_length[d]));
            set_taps(d);
        }
        set_units();
    }

    // Code after this reads the arguments again, so that they need no registers until then.
    CKGEN_DEVICE void reload() { problem_ = &thread_.reload_kernel_args(args_).problem; }

    // The taps that reach the residue; none if a dimension has none.
    CKGEN_DEVICE void set_taps(int d) {
        const int number = conv::class_of(*problem_, d, start_[d]);
        const conv::AxisClass seen = conv::class_of_tap(*problem_, d, max_of(number, 0));
        count_[d] = ceil_div(problem_->in_length[d] - start_[d], problem_->stride[d]);
        origin_[d] = seen.origin;
        tap_[d] = max_of(number, 0);
        taps_[d] = number < 0 ? 0 : seen.taps;
    }
    CKGEN_DEVICE void set_units() {
        unit_length_[0] = problem_->k;
        units_ = problem_->k;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d) {
            unit_length_[d + 1] = d < last ? taps_[d] : ceil_div(taps_[d], row_taps);
            units_ *= unit_length_[d + 1];
            unit_length_[d + 1] = max_of(unit_length_[d + 1], 1);  // a divisor
        }
    }

    CKGEN_DEVICE Box all_units() const {
        Box box;
        CKGEN_UNROLL
        for(int d = 0; d <= ndim; ++d)
            box.end[d] = box.length[d] = unit_length_[d];
        box.units = units_;
        return box;
    }

    // Copies the weights of units of a box to LDS: [unit][tap][group]; zero past the last tap and the last group.
    CKGEN_DEVICE void load_weights(const Box& box, int unit, int end) const {
        const platform::GlobalBuffer weights(problem_->wei + first_group_ * problem_->wei_group_bytes,
                                             platform::kMaxWindowBytes);
        for(int i = thread_.thread_id(); i < (end - unit) * unit_weights; i += D::launch_threads) {
            const int channel = i % D::n_per_block;
            const int tap = i / D::n_per_block;
            const Units at = box.at(unit + tap / row_taps);
            int64 offset = channel * problem_->wei_group_bytes + at.at[0] * problem_->wei_k_bytes;
            CKGEN_UNROLL
            for(int d = 0; d < last; ++d)
                offset += (tap_[d] + problem_->tilde[d] * at.at[d + 1]) * problem_->wei_stride_bytes[d];
            const int column = at.at[ndim] * row_taps + tap % row_taps;
            offset += (tap_[last] + problem_->tilde[last] * column) * problem_->wei_stride_bytes[last];
            const bool there = column < taps_[last] && first_group_ + channel < problem_->groups;
            const Vec<Wei, 1> weight = weights.template load<Vec<Wei, 1>>(thread_, there ? static_cast<uint32>(offset)
                                                                                         : platform::kInvalidOffset);
            thread_.lds_store(i * 4, to_float(weight[0]));
        }
    }

    CKGEN_DEVICE void load_lds(int byte, float (&weights)[vector]) const {
        constexpr int width = min_of(vector, 4);
        CKGEN_UNROLL
        for(int first = 0; first < vector; first += width) {
            const auto part = thread_.template lds_load<Vec<float, width>>(byte + first * 4);
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                weights[first + e] = part[e];
        }
    }

    // Stores the strip's positions that exist. The arguments that only stores need are read again here, and the
    // positions are tested one by one: nested tests keep a mask of lanes each. Either would spill scalar registers.
    CKGEN_DEVICE void write(const Strips& strips, const typename Strips::Place& place,
                            const float (&sums)[positions][vector]) const {
        const typename D::KernelArgs& near = thread_.reload_kernel_args(args_).problem;
        epilogue::InputPlace<ndim> at;
        at.group = group_;
        at.channel = 0;
        at.image = place.at[0];
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d)
            at.position[d] = start_[d] + near.stride[d] * place.at[d + 1];
        const int first = strips.first(place);
        int count = count_[last] - first;
        at.position[last] = start_[last] + near.stride[last] * first;
        auto* target = reinterpret_cast<typename D::In*>(near.target) + epilogue::input_offset<D>(at, near.in);
        const int64 pitch = int64{near.stride[last]} * strips.distance * near.in.position[last];
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i, target += pitch) {
            count = thread_.pin(count);
            if(i * strips.distance < count) {
                const epilogue::FusedInputsOf<D, vector> inputs(thread_, near.d, at);
                epilogue::write_fused<D>(thread_, near.function, inputs, target, sums[i]);
            } else if constexpr(!platform::kLaneMasks) {
                break;
            }
            at.position[last] += near.stride[last] * strips.distance;
        }
    }

    const Args& args_;
    const typename D::KernelArgs* problem_;
    const platform::Thread& thread_;
    const DepthwiseThread<D> mine_;
    int first_group_, group_, share_, units_;
    int32 start_[ndim], count_[ndim];              // input positions start + stride * t of each dimension
    int32 origin_[ndim], tap_[ndim], taps_[ndim];  // see conv::AxisClass; tap_: the first
    int32 unit_length_[ndim + 1];
};

// Any filter: one part of a filter row after the other.
template <class D>
class DepthwiseBwdDataKernel : DepthwiseBwdDataTile<D> {
    using Base = DepthwiseBwdDataTile<D>;
    using Base::args_, Base::count_, Base::first_group_, Base::group_, Base::last, Base::mine_, Base::ndim,
        Base::origin_, Base::positions, Base::problem_, Base::row_taps, Base::share_, Base::taps_, Base::thread_,
        Base::unit_length_, Base::unit_weights, Base::units_, Base::vector, Base::window;
    using typename Base::Box, typename Base::Strips, typename Base::Units, typename Base::Values;
    using Place = typename Strips::Place;
    static constexpr int resident_units = D::lds_bytes / (unit_weights * 4);  // whose weights fit LDS, as f32

public:
    using typename Base::Args;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        DepthwiseBwdDataKernel(args, thread).compute();
    }

private:
    CKGEN_DEVICE DepthwiseBwdDataKernel(const Args& args, const platform::Thread& thread) : Base(args, thread) {}

    CKGEN_DEVICE void compute() {
        const Strips strips(problem_->images, count_, problem_->shift[last], positions);
        const int first = share_ * args_.work.rounds * D::position_threads;
        Place base(strips.length, first);
        Place top(strips.length, first + D::position_threads - 1);
        Place place(strips.length, first + mine_.position);
        const Place step(strips.length, D::position_threads);
        const bool resident = units_ <= resident_units;
        if(resident) {
            this->load_weights(this->all_units(), 0, units_);
            thread_.barrier();
        }
        for(int round = 0; round < args_.work.rounds && base.at[0] < problem_->images; ++round) {
            this->reload();
            float sums[positions][vector] = {};
            const bool mine = place.at[0] < problem_->images && group_ < problem_->groups;
            const Box box = units_of(strips, base, top);
            if(resident) {
                if(mine)
                    add_units(strips, base, place, box, places_of(box), 0, box.units, sums);
            } else {
                for(int unit = 0; unit < box.units; unit += resident_units) {
                    const int end = min_of(unit + resident_units, box.units);
                    thread_.barrier();
                    this->load_weights(box, unit, end);
                    thread_.barrier();
                    if(mine)
                        add_units(strips, base, place, box, {}, unit, end, sums);
                }
            }
            if(mine)
                this->write(strips, place, sums);
            base.advance(strips.length, step);
            top.advance(strips.length, step);
            place.advance(strips.length, step);
        }
    }

    // The units with a tap that meets the output from a position of strips `from` to `to`: the same for all threads of
    // a workgroup, so that long filters on a short output have few.
    CKGEN_DEVICE Box units_of(const Strips& strips, const Place& from, const Place& to) const {
        Box box = this->all_units();
        int units = units_ > 0 ? problem_->k : 0;
        bool same = from.at[0] == to.at[0];  // else the strips have all positions of the dimensions further in
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d) {
            units *= cut(box, d, 1, same ? from.at[d + 1] : 0, same ? to.at[d + 1] : count_[d] - 1);
            same = same && from.at[d + 1] == to.at[d + 1];
        }
        if(unit_length_[ndim] > 1) {
            const int end = same ? (to.at[ndim] + 1) * strips.pitch : count_[last];
            units *= cut(box, last, row_taps, same ? from.at[ndim] * strips.pitch : 0, min_of(end, count_[last]) - 1);
        }
        box.units = units;
        return box;
    }
    // Cuts off the units of `width` taps of dimension d that no position from low to high reads. Returns how many are
    // left.
    CKGEN_DEVICE int cut(Box& box, int d, int width, int low, int high) const {
        const int shift = problem_->shift[d];
        const int behind = origin_[d] + low - problem_->out_length[d] + shift;
        const int ahead = origin_[d] + high;
        const int first = behind < shift ? 0 : (shift == 1 ? behind : behind / shift) / width;
        const int reach = ahead < 0 ? 0 : (shift == 1 ? ahead : ahead / shift) / width + 1;
        box.end[d + 1] = min_of(unit_length_[d + 1], reach);
        const int length = max_of(box.end[d + 1] - first, 0);
        box.length[d + 1] = max_of(length, 1);
        return length;
    }

    // The places of a box's weights if LDS has those of all units: that of the first unit, and how many to skip beside
    // its own where a dimension starts again.
    struct Places {
        int first = 0, gap[ndim + 1] = {};
    };
    CKGEN_DEVICE Places places_of(const Box& box) const {
        Places places;
        int pitch = 1;
        CKGEN_UNROLL
        for(int d = ndim; d > 0; --d) {
            places.first += (box.end[d] - box.length[d]) * pitch;
            places.gap[d] = (unit_length_[d] - box.length[d]) * pitch;
            pitch *= unit_length_[d];
        }
        return places;
    }

    // Advances to the next unit of a box. Returns how far away its weights are in LDS, in units.
    static CKGEN_DEVICE int advance(const Box& box, const Places& places, Units& at) {
        int step = 1, carry = 1;
        CKGEN_UNROLL
        for(int d = ndim; d > 0; --d) {
            at.at[d] += carry;
            carry = at.at[d] == box.end[d] ? 1 : 0;
            at.at[d] -= carry != 0 ? box.length[d] : 0;
            step += carry != 0 ? places.gap[d] : 0;
        }
        at.at[0] += carry;
        return step;
    }

    // Adds the products of units. The values of a unit are loaded while those of the unit before it are multiplied.
    CKGEN_DEVICE void add_units(const Strips& strips, const Place& base, const Place& place, const Box& box,
                                const Places& places, int unit, int end, float (&sums)[positions][vector]) const {
        if(unit >= end)
            return;
        const platform::GlobalBuffer out(problem_->out + base.at[0] * problem_->out_image_bytes,
                                         platform::kMaxWindowBytes);
        const uint32 own = static_cast<uint32>((place.at[0] - base.at[0]) * problem_->out_image_bytes +
                                               group_ * problem_->out_group_bytes);
        const int first = origin_[last] + strips.first(place);
        Units at = box.at(unit);
        Values values[window], next[window];
        load_row(out, own, place, at, first, next);
        for(int lds = mine_.lane * vector + places.first * unit_weights; unit < end; ++unit) {
            CKGEN_UNROLL
            for(int i = 0; i < window; ++i)
                values[i] = next[i];
            const int taps = taps_[last] - at.at[ndim] * row_taps;
            const int step = advance(box, places, at);
            if(unit + 1 < end)
                load_row(out, own, place, at, first, next);
            if(taps >= row_taps)
                multiply<true>(values, lds, taps, sums);
            else
                multiply<false>(values, lds, taps, sums);
            lds += step * unit_weights;
        }
    }

    // Loads the output positions that the taps of a unit read; zero outside the output.
    CKGEN_DEVICE void load_row(const platform::GlobalBuffer& out, uint32 own, const typename Strips::Place& place,
                               const Units& at, int first, Values (&values)[window]) const {
        bool inside = true;
        uint32 offset = own + static_cast<uint32>(at.at[0] * problem_->out_k_bytes);
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d) {
            const int row = origin_[d] + place.at[d + 1] - problem_->shift[d] * at.at[d + 1];
            inside = inside && is_inside(row, problem_->out_length[d]);
            offset += static_cast<uint32>(row) * static_cast<uint32>(problem_->out_stride_bytes[d]);
        }
        const int length = thread_.pin(inside ? problem_->out_length[last] : 0);
        const int step = problem_->shift[last];
        const auto pitch = static_cast<uint32>(problem_->out_stride_bytes[last]);
        int column = first - step * (at.at[ndim] * row_taps + row_taps - 1);
        offset += static_cast<uint32>(column) * pitch;
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i, column += step, offset += static_cast<uint32>(step) * pitch)
            values[i] = out.template load_if<Values>(thread_, is_inside(column, length), offset);
    }

    // All: all row_taps taps exist. A tap that does not exist is not multiplied by zero: the value may be infinite.
    template <bool All>
    CKGEN_DEVICE void multiply(const Values (&values)[window], int lds, int taps,
                               float (&sums)[positions][vector]) const {
        CKGEN_UNROLL
        for(int tap = 0; tap < row_taps; ++tap) {
            if(!All && tap >= taps)
                continue;  // a break would keep the loop from being unrolled
            float weights[vector];
            this->load_lds((lds + tap * D::n_per_block) * 4, weights);
            CKGEN_UNROLL
            for(int i = 0; i < positions; ++i) {
                float factors[vector];
                to_floats<typename D::Out, vector>(values[i + row_taps - 1 - tap], factors);
                CKGEN_UNROLL
                for(int e = 0; e < vector; ++e)
                    sums[i][e] += factors[e] * weights[e];
            }
        }
    }
};

}  // namespace ckgen::pipeline
