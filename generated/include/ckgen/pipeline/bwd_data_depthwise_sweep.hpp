// Copied by ckgen from templates/include/ckgen/pipeline/bwd_data_depthwise_sweep.hpp. Do not edit; run: ckgen generate
// Family depthwise of backward data for filters of at most `stages` rows of row_taps taps: a thread sweeps down the
// rows of the output and loads each once. A row adds to the sums of `stages` rows of the input, of which one is
// complete then.
#pragma once

#include "ckgen/pipeline/bwd_data_depthwise.hpp"

namespace ckgen::pipeline {

template <class D>
class DepthwiseBwdDataSweep : DepthwiseBwdDataTile<D> {
    using Base = DepthwiseBwdDataTile<D>;
    using Base::args_, Base::count_, Base::group_, Base::last, Base::mine_, Base::ndim, Base::origin_, Base::positions,
        Base::problem_, Base::row_taps, Base::share_, Base::taps_, Base::thread_, Base::unit_weights, Base::units_,
        Base::vector, Base::window;
    using typename Base::Strips, typename Base::Values;
    using Place = typename Strips::Place;
    static constexpr int rows = D::stages;
    static constexpr int height = max_of(last - 1, 0);  // the dimension of rows

public:
    using typename Base::Args;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int resident = rows * positions * vector <= 64 ? 2 : 1;
    static constexpr int lds_bytes = D::lds_bytes;

    static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread) {
        DepthwiseBwdDataSweep(args, thread).compute();
    }

private:
    using Sums = float[rows][positions][vector];

    // A run of rows: those of one residue of the distance between neighbouring rows of a sweep.
    struct Run {
        int32 first, count;  // rows, in units of the distance
        int32 residue;
    };
    // The source of the loads of a step of a sweep.
    struct Step {
        int row;    // of the output, in units of the distance
        int layer;  // output channel of the group and outer taps
    };

    CKGEN_DEVICE DepthwiseBwdDataSweep(const Args& args, const platform::Thread& thread)
        : Base(args, thread), layers_(taps_[height] > 0 ? units_ / taps_[height] : 0) {}

    CKGEN_DEVICE void compute() {
        int32 count[ndim];
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            count[d] = count_[d];
        const int distance = problem_->shift[height];
        count[height] = ceil_div(count_[height], distance * args_.work.rows) * distance;
        const Strips strips(problem_->images, count, problem_->shift[last], positions);
        const int first = share_ * args_.work.rounds * D::position_threads;
        Place base(strips.length, first);
        Place place(strips.length, first + mine_.position);
        const Place step(strips.length, D::position_threads);
        this->load_weights(this->all_units(), 0, units_);
        thread_.barrier();
        for(int round = 0; round < args_.work.rounds && base.at[0] < problem_->images; ++round) {
            this->reload();
            if(place.at[0] < problem_->images && group_ < problem_->groups) {
                if(taps_[height] == rows && taps_[last] == row_taps)
                    sweep<true>(strips, base, place);
                else
                    sweep<false>(strips, base, place);
            }
            base.advance(strips.length, step);
            place.advance(strips.length, step);
        }
    }

    CKGEN_DEVICE Run run_of(const Place& place) const {
        const int distance = problem_->shift[height];
        Run run;
        run.first = place.at[height + 1] / distance * args_.work.rows;
        run.residue = place.at[height + 1] % distance;
        run.count = min_of(args_.work.rows, ceil_div(count_[height] - run.residue, distance) - run.first);
        return run;
    }

    // All: the residue is reached by all taps that an instance has sums for.
    template <bool All>
    CKGEN_DEVICE void sweep(const Strips& strips, const Place& base, const Place& place) {
        const platform::GlobalBuffer out(problem_->out + base.at[0] * problem_->out_image_bytes,
                                         platform::kMaxWindowBytes);
        const uint32 own = static_cast<uint32>((place.at[0] - base.at[0]) * problem_->out_image_bytes +
                                               group_ * problem_->out_group_bytes);
        const Run run = run_of(place);
        const int taps = All ? rows : taps_[height];
        const int column = origin_[last] + strips.first(place) - problem_->shift[last] * (row_taps - 1);
        const uint32 first = static_cast<uint32>(column) * static_cast<uint32>(problem_->out_stride_bytes[last]);
        columns_ = 0;
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i)
            columns_ |= static_cast<uint32>(is_inside(column + i * problem_->shift[last], problem_->out_length[last]))
                        << i;
        Sums sums = {};
        Values values[window], next[window];
        Step step{run.first - max_of(taps - 1, 0), 0};
        if(layers_ > 0)
            load(out, own, run, place, step, first, next);
        for(int end = run.first + run.count; step.row < end; ++step.row) {
            for(step.layer = 0; step.layer < layers_; ++step.layer) {
                CKGEN_UNROLL
                for(int i = 0; i < window; ++i)
                    values[i] = next[i];
                const bool more = step.layer + 1 < layers_;
                const Step after{more ? step.row : step.row + 1, more ? step.layer + 1 : 0};
                if(after.row < end)
                    load(out, own, run, place, after, first, next);
                const int lds = step.layer * taps * unit_weights + mine_.lane * vector;
                if(step.layer == 0)
                    add_row<All, true>(values, lds, sums);
                else
                    add_row<All, false>(values, lds, sums);
            }
            if(step.row >= run.first)
                write_row(strips, run, place, step.row, sums[0]);
        }
    }

    CKGEN_DEVICE void write_row(const Strips& strips, const Run& run, Place place, int row,
                                const float (&sums)[positions][vector]) const {
        place.at[height + 1] = run.residue + problem_->shift[height] * row;
        this->write(strips, place, sums);
    }

    // Loads the positions of a row that the taps of a strip read; zero outside the output.
    CKGEN_DEVICE void load(const platform::GlobalBuffer& out, uint32 own, const Run& run, const Place& place,
                           const Step& step, uint32 first, Values (&values)[window]) const {
        int row = origin_[height] + run.residue + problem_->shift[height] * step.row;
        bool inside = is_inside(row, problem_->out_length[height]);
        uint32 offset = own + static_cast<uint32>(row) * static_cast<uint32>(problem_->out_stride_bytes[height]);
        int layer = step.layer;
        if constexpr(ndim == 3) {
            const int depth_taps = taps_[0];
            const int channel = layer / depth_taps;
            const int depth = origin_[0] + place.at[1] - problem_->shift[0] * (layer - channel * depth_taps);
            inside = inside && is_inside(depth, problem_->out_length[0]);
            offset += static_cast<uint32>(depth) * static_cast<uint32>(problem_->out_stride_bytes[0]);
            layer = channel;
        }
        offset += static_cast<uint32>(layer) * static_cast<uint32>(problem_->out_k_bytes) + first;
        // Pinned: else the condition and the offset of every position stay in scalar registers.
        const auto there = static_cast<uint32>(thread_.pin(static_cast<int>(inside ? columns_ : 0)));
        const uint32 pitch =
            static_cast<uint32>(problem_->shift[last]) * static_cast<uint32>(problem_->out_stride_bytes[last]);
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i) {
            values[i] = out.template load_if<Values>(thread_, (there >> i & 1) != 0, offset);
            offset = static_cast<uint32>(thread_.pin(static_cast<int>(offset + pitch)));
        }
    }

    // Adds a row of the output to the sums. Shifts: the first sums are complete and leave, the others move up.
    template <bool All, bool Shifts>
    CKGEN_DEVICE void add_row(const Values (&values)[window], int lds, Sums& sums) const {
        float factors[window][vector];
        CKGEN_UNROLL
        for(int i = 0; i < window; ++i)
            to_floats<typename D::Out, vector>(values[i], factors[i]);
        CKGEN_UNROLL
        for(int row = 0; row < rows; ++row) {
            if constexpr(Shifts)
                shift(row, sums);
            if(!All && row >= taps_[height])
                continue;
            CKGEN_UNROLL
            for(int tap = 0; tap < row_taps; ++tap) {
                if(!All && tap >= taps_[last])
                    continue;
                float weights[vector];
                this->load_lds((lds + row * unit_weights + tap * D::n_per_block) * 4, weights);
                CKGEN_UNROLL
                for(int i = 0; i < positions; ++i)
                    CKGEN_UNROLL
                for(int e = 0; e < vector; ++e)
                    sums[row][i][e] += factors[i + row_taps - 1 - tap][e] * weights[e];
            }
        }
    }
    static CKGEN_DEVICE void shift(int row, Sums& sums) {
        CKGEN_UNROLL
        for(int i = 0; i < positions; ++i)
            CKGEN_UNROLL
        for(int e = 0; e < vector; ++e)
            sums[row][i][e] = row + 1 < rows ? sums[min_of(row + 1, rows - 1)][i][e] : 0.f;
    }

    const int layers_;
    uint32 columns_ = 0;  // bit i: the output has position i of a row that a strip reads
    static_assert(window <= 32, "bits of columns_");
};

// The kernel of an instance.
template <class D, bool Sweeps>
struct DepthwiseBwdData {
    using Kernel = DepthwiseBwdDataSweep<D>;
};
template <class D>
struct DepthwiseBwdData<D, false> {
    using Kernel = DepthwiseBwdDataKernel<D>;
};

}  // namespace ckgen::pipeline
