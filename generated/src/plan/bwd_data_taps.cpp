// Copied by ckgen from templates/src/plan/bwd_data_taps.cpp. Do not edit; run: ckgen generate
// Planning of backward data: positions and taps.
#include "ckgen/plan/bwd_data_checks.hpp"

#include <algorithm>

namespace ckgen::conv {

Counted::Counted(const BwdDataArgs& a, const BwdDataTraits& t, int ndim, int d) {
    const int unit = d == ndim - 1 ? t.row_vector : 1;
    least = ceil_div(std::max(1, a.in_length[d] / a.stride[d]), unit) * unit;
    most = ceil_div(ceil_div(a.in_length[d], a.stride[d]), unit) * unit;
}

bool has_positions_without_taps(const BwdDataArgs& a, int ndim) {
    for(int d = 0; d < ndim; ++d)
        for(int i = 0; i < std::min(a.stride[d], a.in_length[d]); ++i)
            if(class_of(a, d, i) < 0)
                return true;
    return false;
}

int64 most_taps(const BwdDataArgs& a, int ndim) {
    int64 taps = 1;
    for(int d = 0; d < ndim; ++d)
        taps *= ceil_div(a.filter[d], a.tilde[d]);
    return taps;
}

bool skips_taps(const BwdDataArgs& a, const BwdDataTraits& t, int ndim) {
    constexpr int kLongest = 512;  // longer dimensions have little padding
    if(t.tma || a.filter[0] == 1 || a.in_length[0] > kLongest)
        return false;
    int64 inside = 1;
    for(int d = 1; d < ndim; ++d)
        inside *= Counted(a, t, ndim, d).most;
    const auto span = static_cast<int>(1 + (t.m_per_block - 1) / inside);
    int64 all = 0, seen = 0;
    for(int tap = 0; tap < std::min(a.tilde[0], a.filter[0]); ++tap) {
        const AxisClass own = class_of_tap(a, 0, tap);
        all += int64{own.count} * own.taps;
        for(int i = 0; i < own.count; ++i) {
            const int most = own.origin + i + span - 1, least = own.origin + i - a.out_length[0] + 1;
            const int end = most < 0 ? 0 : std::min(own.taps, most / a.shift[0] + 1);
            const int begin = least <= 0 ? 0 : std::min(end, ceil_div(least, a.shift[0]));
            seen += i + span > own.count ? own.taps : end - begin;
        }
    }
    return seen * 16 <= all * 15;
}

}  // namespace ckgen::conv
