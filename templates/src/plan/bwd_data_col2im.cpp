// Planning of backward data: family col2im, whose products have the taps of a filter row as columns.
#include <algorithm>

#include "ckgen/plan/bwd_data_checks.hpp"

namespace ckgen::conv {
namespace {

std::string check_columns(const BwdDataTraits& t, const Problem& p, int64 row, int64 overlap) {
    const int last = p.ndim - 1;
    if(row > t.n_per_block)
        return refuse("col2im-columns", "C * taps of a filter row = " + number(row) + " is more than the " +
                                            number(t.n_per_block) + " columns of a tile");
    if(overlap > t.m_per_block / 2)
        return refuse("col2im-rows", "a filter row reaches over " + number(overlap) +
                                         " output positions, more than half of the " + number(t.m_per_block) +
                                         " rows of a tile");
    if(p.strides[last] > kMostPlaces)
        return refuse("col2im-stride", "stride " + number(p.strides[last]) + " of the last dimension is more than " +
                                           number(kMostPlaces));
    return {};
}

// Sets what the last dimension of the problem determines, and makes its cells the positions of that dimension.
void set_places(Col2im& c, const BwdDataTraits& t, Problem& p) {
    const int d = p.ndim - 1;
    BwdDataArgs one{};
    set_dimension(one, p, d);
    c.channels = static_cast<int32>(p.in_channels());
    c.taps = one.filter[d];
    c.stride = one.stride[d];
    c.pad = one.pad[d];
    c.tilde = one.tilde[d];
    c.shift = one.shift[d];
    c.in_columns = one.in_length[d];
    for(int u = 0; u < c.stride; ++u) {
        const int first = u / one.common[d] * one.inverse[d] % c.tilde;
        if(u % one.common[d] == 0 && first < c.taps)
            c.places[u] = {first, ceil_div(c.taps - first, c.tilde), (first * one.dilation[d] - u) / c.stride};
    }
    if(c.taps <= c.tilde)
        c.tilde = c.shift = 1;  // no place has a next tap; so the distance to it is small
    const int vectors = c.stride * c.channels / t.c_vector, threads = t.m_per_block * 2;
    c.by_vectors = Divider::by(vectors);
    c.by_channels = Divider::by(c.channels / t.c_vector);
    c.rows_at_once = std::max(1, threads / vectors);
    p.in.lengths[3 + d] = (c.in_columns - 1 + c.pad) / c.stride + 1;
    p.wei.lengths[3 + d] = p.strides[d] = p.dilations[d] = 1;
    p.left_pads[d] = 0;
}

// The same for the dimension before it, if the columns of a cell's rows fit a tile: `row` of each.
void set_rows(Col2im& c, const BwdDataTraits& t, Problem& p, int64 row) {
    c.in_rows = c.rows = 1;
    if(p.ndim == 1)
        return;
    const int d = p.ndim - 2;
    c.in_rows = static_cast<int32>(p.in.lengths[3 + d]);
    const int64 rows = p.strides[d], pad = p.left_pads[d], first = pad / rows;
    if(p.dilations[d] != 1 || rows * row > t.n_per_block)
        return;
    c.rows = static_cast<int32>(rows);
    c.first_row = static_cast<int32>(first * rows - pad);
    p.in.lengths[3 + d] = (c.in_rows - 1 + pad) / rows - first + 1;
    p.wei.lengths[3 + d] = divide_up(p.wei.lengths[3 + d], rows);
    p.strides[d] = 1;
    p.left_pads[d] = first;
}

// `filter_row`: weights of a filter row and of all taps of the dimension before, which follow each other in memory.
std::string set_weight(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& given, int64 filter_row) {
    Col2im& c = plan.columns;
    if(!t.transposes_weight) {
        plan.weight_copy = weight_row_copy_args(given, t.elem_bytes, filter_row, c.columns, t.n_per_block);
        c.weight_step = t.n_per_block;
        const int64 row = int64{c.weight_step} * plan.weight_copy.pieces;
        if(row > kMostRows)
            return refuse("workspace-size",
                          "a row of the weight's copy has " + number(row) + " elements, over 31 bits");
        c.weight_row = static_cast<int32>(row);
        return {};
    }
    // Boxes of columns past the end take TMA longer.
    const int64 padded = (filter_row - 1) / c.columns * c.columns + t.n_per_block;
    plan.weight_copy = weight_transposition_args(given, t.elem_bytes, t.weight_parts, given.ndim < 3 ? padded : 0);
    c.weight_step = c.columns;
    c.weight_row = static_cast<int32>(given.ndim < 3 ? padded : filter_row);
    return {};
}

}  // namespace

std::string plan_columns(BwdDataPlan& plan, const BwdDataTraits& t, Problem& p) {
    const int last = p.ndim - 1;
    const Problem given = p;
    const int64 row = p.wei.lengths[3 + last] * p.in_channels();
    const int64 overlap = (p.wei.lengths[3 + last] - 1) * p.dilations[last] / p.strides[last];
    const std::string reason = check_columns(t, p, row, overlap);
    if(!reason.empty())
        return reason;
    const int64 filter_row = row * (p.ndim > 1 ? given.wei.lengths[2 + last] : 1);
    Col2im& c = plan.columns;
    c.row_overlap = static_cast<int32>(overlap);
    set_places(c, t, p);
    set_rows(c, t, p, row);
    c.columns = static_cast<int32>(c.rows * row);
    p.in.lengths[kChannels] = p.wei.lengths[kChannels] = c.columns;
    return set_weight(plan, t, given, filter_row);
}

}  // namespace ckgen::conv
