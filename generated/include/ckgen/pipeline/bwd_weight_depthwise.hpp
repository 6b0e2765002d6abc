// Copied by ckgen from templates/include/ckgen/pipeline/bwd_weight_depthwise.hpp. Do not edit; run: ckgen generate
// Family depthwise of backward weight. A unit is a part of the filter: row_taps taps of `stages` rows. A thread sums
// the products of one unit over its strips of output positions, sweeping down their rows; the threads of a workgroup
// have several units side by side. At the end their sums are added in LDS in a fixed order, splits by the reduction.
#pragma once

#include "ckgen/conv/depthwise.hpp"
#include "ckgen/pipeline/depthwise.hpp"
#include "ckgen/pipeline/depthwise_sums.hpp"

namespace ckgen::pipeline {

template <class D>
struct DepthwiseBwdWeightArgs {
    typename D::KernelArgs problem;
    conv::DepthwiseWork work;
};

template <class D>
class DepthwiseBwdWeightKernel {
    static constexpr int ndim = D::Layout::ndim, last = ndim - 1;
    static constexpr int vector = D::a_vector, positions = D::thread_positions;
    static constexpr int row_taps = D::m_per_block;
    static constexpr int unit_rows = D::stages;  // filter rows of a unit
    static constexpr bool channels_last = D::Layout::channels_last;
    static constexpr int height = max_of(last - 1, 0);  // the dimension of rows
    static_assert((positions - 1) * 2 + row_taps <= 32, "bits of Sweep::in_there");
    static_assert(unit_rows == 1 || ndim > 1, "a filter of one dimension has one row");
    using Sums = float[unit_rows][row_taps][vector];
    using Strips = DepthwiseStrips<ndim>;
    using Place = typename Strips::Place;
    using Units = conv::Walk<ndim + 1>;  // output channel of the group, outer taps, part of the filter row

public:
    using Args = DepthwiseBwdWeightArgs<D>;
    static constexpr conv::DepthwiseLimits limits{vector,    D::n_per_block, row_taps,
                                                  unit_rows, positions,      D::position_threads};
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int resident = unit_rows * (row_taps + positions) * vector < 60 || unit_rows == 1 ? 2 : 1;
    static constexpr int lds_bytes = D::lds_bytes;
    static_assert(launch_threads * vector * 4 <= lds_bytes, "the sums of a tap");

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        DepthwiseBwdWeightKernel kernel(args, thread);
        Sums sums = {};
        kernel.add_strips(sums);
        kernel.reload();
        if constexpr(D::n_per_block == 1)
            add_units<launch_threads>(thread, args.work.unit_groups, kernel.position_threads_, sums,
                                      [&](int unit, int row, int tap, float sum) {
                                          kernel.store_total(unit, 0, row, tap, [sum] { return sum; });
                                      });
        else
            kernel.add_threads(sums);
    }

private:
    CKGEN_DEVICE DepthwiseBwdWeightKernel(const Args& args, const platform::Thread& thread)
        : args_(args), problem_(&thread.reload_kernel_args(args).problem), thread_(thread), mine_(thread),
          position_threads_(D::position_threads / args.work.unit_groups),
          strip_(mine_.position / args.work.unit_groups) {
        uint32 block = thread.block_id();
        first_group_ = conv::take(block, problem_->group_tiles) * D::n_per_block;
        first_unit_ = conv::take(block, problem_->m_tiles) * args.work.unit_groups;
        split_ = static_cast<int>(block);
        group_ = first_group_ + mine_.lane * vector;
        unit_length_[0] = problem_->m;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            unit_length_[d + 1] = ceil_div(problem_->filter[d], d == last ? row_taps : d == height ? unit_rows : 1);
        unit_ = Units(unit_length_, first_unit_ + mine_.position % args.work.unit_groups);
    }

    // Code after this reads the arguments again, so that they need no registers until then.
    CKGEN_DEVICE void reload() { problem_ = &thread_.reload_kernel_args(args_).problem; }

    CKGEN_DEVICE void add_strips(Sums& sums) {
        const int images = problem_->k / positions_of_image();
        int32 count[ndim];
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            count[d] = problem_->out_length[d];
        if constexpr(unit_rows > 1)
            count[height] =
                ceil_div(count[height], args_.work.row_dilation * args_.work.rows) * args_.work.row_dilation;
        const Strips strips(images, count, args_.work.dilation, positions);
        const int first = split_ * args_.work.rounds * position_threads_;
        Place base(strips.length, first);
        Place place(strips.length, first + strip_);
        const Place step(strips.length, position_threads_);
        const bool mine = group_ < problem_->groups && unit_.at[0] < problem_->m && strip_ < position_threads_;
        for(int round = 0; round < args_.work.rounds && base.at[0] < images; ++round) {
            reload();
            if(mine && place.at[0] < images) {
                const Sweep sweep(*this, strips, base, place);
                if constexpr(unit_rows > 1)
                    add_neighbours(sweep, sums);
                else if(args_.work.stride == 1)
                    add_rows<1>(sweep, sums);
                else if(args_.work.stride == 2)
                    add_rows<2>(sweep, sums);
                else
                    add_rows<0>(sweep, sums);
            }
            base.advance(strips.length, step);
            place.advance(strips.length, step);
        }
    }

    CKGEN_DEVICE int positions_of_image() const {
        int count = 1;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            count *= problem_->out_length[d];
        return count;
    }

    // Bytes from one image of the output to the next.
    CKGEN_DEVICE int64 out_image_bytes() const {
        if constexpr(channels_last)
            return int64{problem_->out_row_bytes} * positions_of_image();
        else
            return problem_->out_image_bytes;
    }

    // Values of the input that the taps of a strip read. Stride: how many taps its positions are apart in the input; 0
    // for more than two, whose taps share no value.
    template <int Stride>
    static constexpr int window = Stride == 0 ? positions * row_taps : (positions - 1) * Stride + row_taps;

    // The rows that a thread multiplies: `rows` rows of the output, row_dilation apart, and the rows of the input under
    // the first row of its unit's taps. Byte offsets are those of the first position of a strip.
    struct Sweep {
        platform::GlobalBuffer out, in;
        uint32 out_byte, out_row, out_pitch;  // first row, from a row to the next, from a position to the next
        uint32 in_byte, in_row, in_pitch;     // in_row: of rows under neighbouring taps
        int rows;
        int in_first;     // first row of the input
        int in_column;    // first position in a row
        int positions;    // of the strip that the output has
        bool inside;      // false if the outer taps lie outside the input
        uint32 in_there;  // bit i: the input has the position under tap i of the first output position

        CKGEN_DEVICE Sweep(const DepthwiseBwdWeightKernel& k, const Strips& strips, const Place& base,
                           const Place& place)
            : out(k.problem_->out + base.at[0] * k.out_image_bytes(), platform::kMaxWindowBytes),
              in(k.problem_->in + base.at[0] * k.problem_->in_image_bytes, platform::kMaxWindowBytes), rows(1),
              in_first(0), inside(true) {
            const conv::BwdWeightArgs& p = *k.problem_;
            const int image = place.at[0] - base.at[0];
            in_byte = static_cast<uint32>(image * p.in_image_bytes + k.group_ * p.in_group_bytes);
            set_columns(k, strips, place, set_rows(k, place, channels_last ? static_cast<uint32>(image) : 0));
            if constexpr(!channels_last)
                out_byte += static_cast<uint32>(image * p.out_image_bytes);
        }

    private:
        // Sets the rows of outer dimensions. Returns the first row of the output, counted from that of `image`.
        CKGEN_DEVICE uint32 set_rows(const DepthwiseBwdWeightKernel& k, const Place& place, uint32 image) {
            const conv::BwdWeightArgs& p = *k.problem_;
            uint32 row = image;
            in_row = 0;
            CKGEN_UNROLL
            for(int d = 0; d < last; ++d) {
                int at = place.at[d + 1];
                int tap = k.unit_.at[d + 1];
                const auto stride_bytes = static_cast<uint32>(p.in_stride_bytes[d]);
                if(unit_rows > 1 && d == height) {
                    const int run = at / k.args_.work.row_dilation;
                    const int residue = at - run * k.args_.work.row_dilation;
                    at = residue + run * k.args_.work.rows * k.args_.work.row_dilation;
                    tap *= unit_rows;
                    rows = min_of(k.args_.work.rows, ceil_div(p.out_length[d] - at, k.args_.work.row_dilation));
                    in_row = static_cast<uint32>(p.dilation[d]) * stride_bytes;
                }
                const int position = at * p.stride[d] + tap * p.dilation[d] - p.pad[d];
                if(unit_rows > 1 && d == height)
                    in_first = position;
                else
                    inside = inside && is_inside(position, p.in_length[d]);
                in_byte += static_cast<uint32>(position) * stride_bytes;
                row = row * static_cast<uint32>(p.out_length[d]) + static_cast<uint32>(at);
            }
            return row;
        }

        // Sets the positions within rows. `outer`: the row of the output.
        CKGEN_DEVICE void set_columns(const DepthwiseBwdWeightKernel& k, const Strips& strips, const Place& place,
                                      uint32 outer) {
            const conv::BwdWeightArgs& p = *k.problem_;
            const int first = strips.first(place);
            const uint32 row = outer * static_cast<uint32>(p.out_length[last]) + static_cast<uint32>(first);
            const auto row_bytes = static_cast<uint32>(p.out_row_bytes);
            const auto channel_bytes =
                static_cast<uint32>(channels_last ? static_cast<int32>(sizeof(typename D::Out)) : p.out_channel_bytes);
            out_byte = row * row_bytes + static_cast<uint32>(k.group_ * p.out_group_bytes) +
                       static_cast<uint32>(k.unit_.at[0]) * channel_bytes;
            out_pitch = static_cast<uint32>(k.args_.work.dilation) * row_bytes;
            out_row = 0;
            if constexpr(unit_rows > 1)
                out_row = static_cast<uint32>(k.args_.work.row_dilation * p.out_length[last]) * row_bytes;
            in_column = first * p.stride[last] + k.unit_.at[ndim] * row_taps * p.dilation[last] - p.pad[last];
            in_byte += static_cast<uint32>(in_column) * static_cast<uint32>(p.in_stride_bytes[last]);
            in_pitch = static_cast<uint32>(p.dilation[last]) * static_cast<uint32>(p.in_stride_bytes[last]);
            positions = ceil_div(p.out_length[last] - first, strips.distance);
            in_there = 0;
            CKGEN_UNROLL
            for(int i = 0; i < window<2>; ++i)
                in_there |= static_cast<uint32>(is_inside(in_column + i * p.dilation[last], p.in_length[last])) << i;
        }
    };

    // Values of a strip as they are in memory.
    using Out = typename RawValues<typename D::Out, vector>::Type;
    using In = typename RawValues<typename D::In, vector>::Type;
    using Factors = float[positions][vector];

    CKGEN_DEVICE void load_out(const Sweep& s, int row, Out (&values)[positions]) const {
        const uint32 byte = s.out_byte + static_cast<uint32>(row) * s.out_row;
        const int there = thread_.pin(row < s.rows ? s.positions : 0);  // else all conditions stay in registers
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i)
            values[i] = s.out.template load_if<Out>(thread_, i < there, byte + static_cast<uint32>(i) * s.out_pitch);
    }
    // `row`: in taps from the first row on.
    template <int Stride>
    CKGEN_DEVICE void load_in(const Sweep& s, int row, In (&values)[window<Stride>]) const {
        const uint32 byte = s.in_byte + static_cast<uint32>(row) * s.in_row;
        if constexpr(Stride == 0) {
            const int length = thread_.pin(has_row(s, row) ? problem_->in_length[last] : 0);
            CKGEN_UNROLL
            for(int i = 0; i < window<0>; ++i) {
                const int tap = i / row_taps * args_.work.stride + i % row_taps;
                values[i] =
                    s.in.template load_if<In>(thread_, is_inside(s.in_column + tap * problem_->dilation[last], length),
                                              byte + static_cast<uint32>(tap) * s.in_pitch);
            }
        } else {
            const auto there = static_cast<uint32>(thread_.pin(static_cast<int>(has_row(s, row) ? s.in_there : 0)));
            CKGEN_UNROLL
            for(int i = 0; i < window<Stride>; ++i)
                values[i] = s.in.template load_if<In>(thread_, (there >> i & 1) != 0,
                                                      byte + static_cast<uint32>(i) * s.in_pitch);
        }
    }
    CKGEN_DEVICE bool has_row(const Sweep& s, int row) const {
        return s.inside && (unit_rows == 1 ||
                            is_inside(s.in_first + row * problem_->dilation[height], problem_->in_length[height]));
    }

    // Each row of the output by itself.
    template <int Stride>
    CKGEN_DEVICE void add_rows(const Sweep& s, Sums& sums) const {
        Out out[positions];
        In in[window<Stride>];
        Factors factors;
        load_out(s, 0, out);
        load_in<Stride>(s, 0, in);
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i)
            to_floats<typename D::Out, vector>(out[i], factors[i]);
        if(!has_row(s, 0))
            return;
        float values[window<Stride>][vector];
        CKGEN_UNROLL
        for(int i = 0; i < window<Stride>; ++i)
            to_floats<typename D::In, vector>(in[i], values[i]);
        if(s.positions >= positions)
            multiply<Stride, true>(s, values, factors, sums[0]);
        else
            multiply<Stride, false>(s, values, factors, sums[0]);
    }

    // Neighbouring rows of the output are one tap apart in the input: each row of the input is loaded once and
    // multiplied with the last unit_rows rows of the output, which stay in registers. The next rows are loaded ahead.
    // The compiler must not foresee the row: it would keep the offsets of several rows in registers.
    CKGEN_DEVICE void add_neighbours(const Sweep& s, Sums& sums) const {
        Factors rows[unit_rows];
        Out out[positions];
        In in[window<1>];
        load_out(s, 0, out);
        load_in<1>(s, 0, in);
        const int end = s.rows + unit_rows - 1;
        for(int first = 0; first < end; first = thread_.rematerialize(first + unit_rows)) {
            CKGEN_UNROLL
            for(int turn = 0; turn < unit_rows; ++turn) {
                const int row = first + turn;
                if(row >= end)
                    break;
                CKGEN_UNROLL
                for(int i = 0; i < positions; ++i)
                    to_floats<typename D::Out, vector>(out[i], rows[turn][i]);
                float values[window<1>][vector];
                CKGEN_UNROLL
                for(int i = 0; i < window<1>; ++i)
                    to_floats<typename D::In, vector>(in[i], values[i]);
                const bool reads = has_row(s, row);
                if(row + 1 < end) {
                    load_out(s, row + 1, out);
                    load_in<1>(s, row + 1, in);
                }
                if(!reads)
                    continue;
                if(row >= unit_rows - 1 && row < s.rows && s.positions >= positions) {
                    CKGEN_UNROLL
                    for(int tap = 0; tap < unit_rows; ++tap)
                        multiply<1, true>(s, values, rows[(turn - tap + unit_rows) % unit_rows], sums[tap]);
                } else {
                    CKGEN_UNROLL
                    for(int tap = 0; tap < unit_rows; ++tap)
                        if(is_inside(row - tap, s.rows))
                            multiply<1, false>(s, values, rows[(turn - tap + unit_rows) % unit_rows], sums[tap]);
                }
            }
        }
    }

    // All: the output has all positions of the strip. A position past the last is not multiplied by zero: the input
    // under it may be infinite.
    template <int Stride, bool All>
    CKGEN_DEVICE void multiply(const Sweep& s, const float (&in)[window<Stride>][vector], const Factors& out,
                               float (&sums)[row_taps][vector]) const {
        int there = s.positions;
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i) {
            there = All ? positions : thread_.pin(there);  // else the compiler nests the tests
            if(i >= there && !platform::kLaneMasks)
                break;
            if(i >= there)
                continue;
            CKGEN_UNROLL
            for(int tap = 0; tap < row_taps; ++tap)
                CKGEN_UNROLL
            for(int e = 0; e < vector; ++e)
                sums[tap][e] += in[i * (Stride == 0 ? row_taps : Stride) + tap][e] * out[i][e];
        }
    }

    // Adds the sums of all threads of a unit and a channel, and stores them.
    CKGEN_DEVICE void add_threads(const Sums& sums) const {
        CKGEN_UNROLL
        for(int row = 0; row < unit_rows; ++row)
            CKGEN_UNROLL
        for(int tap = 0; tap < row_taps; ++tap) {
            thread_.barrier();
            Vec<float, vector> values;
            CKGEN_UNROLL
            for(int e = 0; e < vector; ++e)
                values[e] = sums[row][tap][e];
            store_to_lds(thread_, thread_.thread_id() * vector, values);
            thread_.barrier();
            for(int i = thread_.thread_id(); i < args_.work.unit_groups * D::n_per_block; i += launch_threads)
                store_sum(i / D::n_per_block, i % D::n_per_block, row, tap);
        }
    }
    // `unit` and `channel` are those of the workgroup.
    CKGEN_DEVICE void store_sum(int unit, int channel, int row, int tap) const {
        const int units = args_.work.unit_groups, first = unit * D::n_per_block + channel;
        store_total(unit, channel, row, tap,
                    [&] { return sum_of_lds(thread_, first, units * D::n_per_block, 0, position_threads_, 1); });
    }
    // `sum` returns the weight.
    template <class Sum>
    CKGEN_DEVICE void store_total(int unit, int channel, int row, int tap, const Sum& sum) const {
        const Units at(unit_length_, first_unit_ + unit);
        const int column = at.at[ndim] * row_taps + tap;
        if(at.at[0] >= problem_->m || column >= problem_->filter[last] || first_group_ + channel >= problem_->groups)
            return;
        const float total = sum();
        const int64 filter = static_cast<int64>(first_group_ + channel) * problem_->m + at.at[0];
        int64 element = filter;
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d) {
            const bool rows = unit_rows > 1 && d == height;
            const int place = rows ? at.at[d + 1] * unit_rows + row : at.at[d + 1];
            if(rows && place >= problem_->filter[d])
                return;
            element = element * problem_->filter[d] + place;
        }
        element = element * problem_->filter[last] + column;
        if(problem_->partial != nullptr)
            thread_.global_store(problem_->partial + split_ * problem_->groups * problem_->wei_group_elements + element,
                                 total);
        else
            store_weight<D>(thread_, args_, first_group_ + channel, at.at[0],
                            static_cast<int>(element - filter * problem_->n), element, total);
    }

    const Args& args_;
    const typename D::KernelArgs* problem_;
    const platform::Thread& thread_;
    const DepthwiseThread<D> mine_;
    const int position_threads_;  // threads that share the strips of a unit
    const int strip_;             // of the first round
    int first_group_, group_, first_unit_, split_;
    int32 unit_length_[ndim + 1];
    Units unit_;
};

}  // namespace ckgen::pipeline
