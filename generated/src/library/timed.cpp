// Copied by ckgen from templates/src/library/timed.cpp. Do not edit; run: ckgen generate
// The numbers of instances and problems for the model of time: those of ckgen/selection/time_model.py.
#include "ckgen/library/timed.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ckgen/conv/weight_copy_args.hpp"

namespace ckgen::time_model {

using conv::divide_up;
using conv::Extents;
using conv::saturated;
using Sizes = conv::ProblemSizes;

Sizes counted(const InstanceFields& i, const Sizes& p) {
    return i.sums_columns ? conv::with_columns(p, i.tile_columns) : p;
}

int64 tiles(const InstanceFields& i, const Extents& own, int64 groups) {
    const int64 merged = std::min<int64>(i.groups_to_merge, groups);
    const int64 rows = divide_up(saturated(own.m, own.tap_channels > 0 ? 1 : merged), i.tile_rows);
    const int64 step = own.taps > 1 ? i.tap_step : 1;
    const int64 columns = saturated(saturated(divide_up(own.n, step), step), i.all_taps ? 1 : own.taps);
    if(i.all_groups)
        return saturated(rows, divide_up(saturated(columns, groups), i.tile_columns));
    return saturated(saturated(rows, divide_up(groups, merged)), divide_up(saturated(columns, merged), i.tile_columns));
}

namespace {

// The fastest axis of the output.
char last_of(const char* layout) { return layout[std::strlen(layout) - 1]; }

// 1 if the rows of a tensor do not begin at lines of the cache.
double breaks_lines(const InstanceFields& i, const Sizes& p, TensorName tensor) {
    int64 pitch = p.c;
    if(tensor == TensorName::in)
        pitch = std::strchr(i.layout, '/')[-1] == 'C' ? p.groups * p.c : p.input_positions() / p.batch;
    else if(tensor == TensorName::out)
        pitch = last_of(i.layout) == 'K' ? p.groups * p.k : p.output_positions() / p.batch;
    return static_cast<double>(pitch * i.elem_bytes % kLineBytes > 0);
}

// Times that a family of sweeps multiplies each position by a unit of taps; 0 for matrix products.
int64 passes(const InstanceFields& i, const Extents& own, const Sizes& p) {
    if(i.sweep_groups == 0)
        return 0;
    return p.product(p.k, [&](int d) {
        const int64 unit = d == p.ndim - 1 ? i.sweep_columns : d == p.ndim - 2 ? i.sweep_rows : 1;
        return divide_up(own.tap_channels > 0 ? divide_up(p.filter[d], p.tilde(d)) : p.filter[d], unit);
    });
}

// True if a tensor whose rows have so many elements is copied first.
bool is_copied(int unit, int64 row) { return unit < 0 || (unit > 0 && row % unit != 0); }

Numbers numbers_of(const InstanceFields& i, const Roles& roles, const Extents& own, const Sizes& p) {
    const auto real = [](int64 value) { return static_cast<double>(value); };
    const int64 a = p.elements(roles.a), b = p.elements(roles.b), c = p.elements(roles.c);
    Numbers n{};
    n.rows = i.tile_rows, n.columns = i.tile_columns, n.k_per_block = i.k_per_block, n.values = i.values;
    n.a_vector = i.a_vector, n.b_vector = i.b_vector, n.c_vector = i.c_vector;
    n.elem_bytes = i.elem_bytes, n.c_bytes = i.c_bytes;
    n.waves = i.waves, n.threads = i.threads, n.lds_bytes = i.lds_bytes, n.registers = i.registers;
    n.gathered = i.any_filter && last_of(i.layout) != 'K';
    n.overlaps = i.overlaps, n.tap_step = i.tap_step, n.pace = i.pace, n.sweep_taps = i.sweep_rows * i.sweep_columns,
    n.sweep_groups = std::max(1, i.sweep_groups), n.sweep_positions = std::max(1, i.sweep_positions);
    n.tiles = real(tiles(i, own, p.groups)), n.groups = real(p.groups), n.terms = real(own.k);
    n.tap_channels = real(own.tap_channels * std::min<int64>(i.groups_to_merge, p.groups));
    const Sizes seen = counted(i, p);
    n.mean_taps = real(seen.taps()) / real(seen.product(1, [&](int d) { return seen.tilde(d); }));
    n.tile_taps = real(i.all_taps ? own.taps : 1), n.result_columns = real(own.n);
    n.stored_columns = real(i.sums_columns ? std::min<int64>(i.tile_columns, own.n) : i.tile_columns);
    n.written = real(c), n.compulsory = real((a + b) * i.elem_bytes + c * i.c_bytes),
    n.a_bytes = real(a * i.elem_bytes);
    n.a_lines = breaks_lines(i, p, roles.a), n.b_lines = breaks_lines(i, p, roles.b);
    n.positions = real(p.product(
        p.batch, [&](int d) { return own.tap_channels > 0 ? p.input[d] : std::max(p.input[d], p.output(d)); }));
    n.passes = real(passes(i, own, p));
    const bool of_weight = roles.b == TensorName::wei;
    const int64 out = is_copied(i.out_unit, p.groups * p.k) ? p.elements(TensorName::out) : 0;
    const bool aligns =
        of_weight && i.b_unit > 0 && i.elem_bytes == 2 && i.weight_rows == 0 &&
        conv::gains_by_aligned_weight(p.groups, p.k, p.c, p.taps(), p.output_positions(), i.tile_rows, i.elem_bytes);
    const int64 other = aligns || is_copied(i.b_unit, of_weight ? p.c : p.groups * p.c) ? b : 0;
    n.b_lines = aligns ? 0. : n.b_lines;
    n.copies = real((out > 0) + (other > 0)), n.copied = 2 * real(out + other) * i.elem_bytes;
    return n;
}

}  // namespace

Timed fastest(const InstanceFields& i, const Device& device, const Row& row, const Roles& roles, const Extents& own,
              const Sizes& p) {
    Numbers numbers = numbers_of(i, roles, own, p);
    const int64 terms = std::max<int64>(own.k, 1);  // an empty output; instances refuse it
    const int64 least = i.splits ? divide_up(terms, i.weight_rows > 0 ? i.weight_rows : terms) : 1;
    const int64 most = i.splits ? std::min<int64>(divide_up(terms, i.k_per_block), kMostSplits) : 1;
    std::pair<double, int64> best{std::numeric_limits<double>::infinity(), least};
    const auto compare = [&](int64 factor) {
        numbers.split_k = static_cast<double>(factor);
        best = std::min(best, std::pair{evaluate(numbers, device, row), factor});
    };
    compare(least);
    for(int at = 0; at < kPowers + kFills; ++at) {
        const int64 fill = (at - kPowers + 1) * static_cast<int64>(device.units) / tiles(i, own, p.groups);
        const int64 factor = at < kPowers ? int64{1} << at : fill;
        if(factor >= least && factor <= most)
            compare(factor);
    }
    return {best.first, i.splits ? best.second : -1};
}

}  // namespace ckgen::time_model
