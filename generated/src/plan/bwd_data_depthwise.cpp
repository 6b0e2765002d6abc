// Copied by ckgen from templates/src/plan/bwd_data_depthwise.cpp. Do not edit; run: ckgen generate
// Planning of families depthwise and depthwise_tma of backward data.
#include <algorithm>

#include "ckgen/plan/bwd_data_checks.hpp"
#include "ckgen/plan/depthwise_checks.hpp"

namespace ckgen::conv {
namespace {

using namespace depthwise;

// A sweep has sums for a number of taps.
std::string check_filter(const BwdDataArgs& a, const BwdDataTraits& t) {
    const int last = t.ndim - 1;
    int64 taps = a.k;
    for(int d = 0; d < t.ndim; ++d) {
        const int most = ceil_div(a.filter[d], a.tilde[d]);
        const int limit = d == last ? t.depthwise.row_taps : d == last - 1 ? t.depthwise.rows : most;
        if(most > limit)
            return refuse("depthwise-filter", number(most) + " taps of dimension " + number(d) +
                                                  " reach one position; the instance has sums for " + number(limit));
        taps *= d == last ? t.depthwise.row_taps : most;
    }
    if(taps * t.depthwise.channels * 4 > t.lds_bytes)
        return refuse("depthwise-filter", "the weights do not fit LDS");
    return {};
}

// A workgroup addresses the weights of its groups from the first one on.
std::string check_weights(const BwdDataTraits& t, const Problem& p) {
    const int64 groups = std::min<int64>(p.groups(), t.depthwise.channels);
    int64 bytes = p.out_channels() * p.taps();
    if(!multiply(bytes, groups * t.elem_bytes) || bytes > kMaxWindow)
        return refuse("depthwise-size", "the weights of " + number(groups) + " groups have more than 2^31 bytes");
    return {};
}

std::string check_d(const BwdDataTraits& t, const Problem& p, const Fusion& fusion) {
    for(std::size_t i = 0; i < t.d.size(); ++i) {
        const DTensor& d = fusion.d[i];
        if(p.groups() > 1 && d.shape.lengths[0] == 1)
            return refuse("depthwise-groups", "D" + std::to_string(i) + " has one group for all");
        const std::string reason = check_tensor(("D" + std::to_string(i)).c_str(), d.shape, d.data, t.d[i].bytes,
                                                t.d[i].one_a_channel ? 0 : t.ndim, t.depthwise.vector);
        if(!reason.empty())
            return reason;
    }
    return {};
}

// Positions and strips of a problem. A residue is one of the positions modulo the strides, which have taps in common.
struct Division {
    int64 residues = 1;
    StripCount strips;  // of an image and a residue
};

// Sets the channel blocks and the rows of a sweep too.
Division divide(const BwdDataArgs& a, const BwdDataTraits& t, DepthwiseStripWork& work, int compute_units) {
    const DepthwiseLimits& limits = t.depthwise;
    const int last = t.ndim - 1, height = limits.rows > 1 ? last - 1 : -1;  // the dimension of sweeps
    work.channel_blocks = ceil_div(a.groups, limits.channels);
    Division made;
    const auto divide_dimension = [&](int d, int at_once) {
        const int most = ceil_div(a.in_length[d], a.stride[d]);
        const int least = std::max(1, a.in_length[d] / a.stride[d]);
        const int distance = d == height || d == last ? a.shift[d] : 1;
        made.strips.times(strips_of(most, distance, at_once), strips_of(least, distance, at_once));
    };
    for(int d = 0; d < t.ndim; ++d) {
        made.residues *= std::min(a.stride[d], a.in_length[d]);
        if(d != height)
            divide_dimension(d, d == last ? limits.positions : 1);
    }
    if(height >= 0) {
        const double strips = static_cast<double>(a.images) * made.strips.most * a.shift[height];
        const double workgroups = strips / limits.position_threads * made.residues * work.channel_blocks;
        const int length = ceil_div(ceil_div(a.in_length[height], a.stride[height]), a.shift[height]);
        work.rows = rows_of_sweep(length, limits.rows, workgroups / (static_cast<double>(t.resident) * compute_units));
        divide_dimension(height, work.rows);
    }
    return made;
}

// Divides the strips among workgroups and threads.
std::string set_grid(BwdDataPlan& plan, const BwdDataTraits& t, const Division& division, int compute_units) {
    BwdDataArgs& a = plan.args;
    DepthwiseStripWork& work = plan.strips;
    const int64 strips = a.images * division.strips.most;
    const int64 rounds = divide_up(strips, t.depthwise.position_threads);
    const int64 wanted = divide_up(int64{kWorkgroupsPerUnit} * compute_units, division.residues * work.channel_blocks);
    work.rounds = static_cast<int32>(std::clamp<int64>(rounds / wanted, 1, 256));
    work.shares = static_cast<int32>(divide_up(rounds, work.rounds));
    int64 blocks = division.residues;
    if(blocks > kMostRows || !multiply(blocks, work.channel_blocks) || !multiply(blocks, work.shares) ||
       blocks > kMostThreads / t.launch_threads - 1)
        return refuse("grid-size", "the grid would hold more than 2^32 threads");
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(blocks);
    return {};
}

}  // namespace

std::string plan_depthwise(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, const Fusion& fusion,
                           const Addresses& at, int compute_units) {
    std::string reason = check_groups(t, p, at, t.written_bytes);
    if(reason.empty() && t.depthwise.vector > 1)
        reason = check_d(t, p, fusion);
    if(reason.empty())
        reason = check_weights(t, p);
    if(reason.empty() && t.depthwise.rows > 1)
        reason = check_filter(plan.args, t);
    if(!reason.empty())
        return reason;
    const Division division = divide(plan.args, t, plan.strips, compute_units);
    reason = check_strips(plan.args.images, division.strips, t.depthwise.position_threads,
                          image_bytes(p.out, t.ndim, t.elem_bytes));
    return reason.empty() ? set_grid(plan, t, division, compute_units) : reason;
}

namespace {

constexpr int kMostBoxStages = 6;
constexpr int kMostBoxEdge = 256;  // positions of a box along a dimension: CUDA driver API, cuTensorMapEncodeTiled
constexpr int kDivisions = 8;      // of a dimension that are compared
// Of a multiprocessor: instructions of 32 lanes per clock, and bytes that it moves per clock if all are busy.
constexpr int kIssues = 4, kMovedBytes = 14;
// Bytes that could be moved while the roles of a workgroup wait for each other, and while it loads other weights.
constexpr int kTileBytes = 2048, kWeightBytes = 12288;

// Refuses problems that the kernel or its tensor map cannot describe.
std::string check_boxes(const BwdDataTraits& t, const Problem& p, const BwdDataArgs& a) {
    const int wanted[] = {t.boxes.rows, t.boxes.taps};
    for(int d = 0; d < p.ndim; ++d) {
        if(a.filter[d] != wanted[d])
            return refuse("depthwise-filter", "dimension " + number(d) + " has " + number(a.filter[d]) +
                                                  " taps; the instance has sums for exactly " + number(wanted[d]));
        if(a.stride[d] != 1 || a.dilation[d] != 1)
            return refuse("depthwise-stride", "stride " + number(a.stride[d]) + " and dilation " +
                                                  number(a.dilation[d]) + " are not both 1");
        if(p.left_pads[d] > kMostRows - a.in_length[d] - kMostBoxEdge)
            return refuse("depthwise-size", "positions and pads of a dimension do not fit 31 bits");
    }
    if(a.out_image_bytes >= int64{1} << 40)
        return refuse("tma-limits", "images of the output are 2^40 or more bytes apart");
    Tensor positions = p.out;
    positions.strides[0] = 0;  // groups are side by side
    return check_strides_multiple("tma-limits", "an output stride", positions, p.ndim, 16 / t.elem_bytes);
}

// Tiles of `columns` by `rows` positions of `images` images; without stages if a box does not fit.
DepthwiseBoxes boxes_of(const BwdDataArgs& a, const DepthwiseBoxLimits& limits, int columns, int rows, int images) {
    DepthwiseBoxes boxes{};
    boxes.images = images;
    boxes.rows = rows;
    boxes.columns = columns;
    boxes.segments = ceil_div(columns, limits.positions);
    boxes.length = ceil_div(columns, boxes.segments);
    boxes.box_columns = (boxes.segments - 1) * boxes.length + limits.positions + limits.taps - 1;
    boxes.box_rows = rows + limits.rows - 1;
    if(std::max({boxes.box_columns, boxes.box_rows, images}) > kMostBoxEdge)
        return boxes;
    boxes.units = images * rows * boxes.segments;
    boxes.stage_bytes = images * boxes.box_rows * boxes.box_columns * DepthwiseBoxes::pitch;
    boxes.stages = std::min(kMostBoxStages, (limits.lds_bytes - DepthwiseBoxes::pitch) / (boxes.stage_bytes + 16));
    boxes.channel_blocks = ceil_div(a.groups, limits.channels);
    boxes.column_tiles = ceil_div(a.in_length[1], columns);
    boxes.row_tiles = ceil_div(a.in_length[0], rows);
    return boxes;
}

int64 tiles_of(const BwdDataArgs& a, const DepthwiseBoxes& boxes) {
    const int64 image_tiles = ceil_div(a.images, boxes.images);
    int64 tiles = boxes.channel_blocks;
    const bool fits = multiply(tiles, boxes.column_tiles) && multiply(tiles, boxes.row_tiles) &&
                      multiply(tiles, image_tiles) && tiles <= kMostRows;
    return fits ? tiles : -1;
}

// An estimate of the time of a workgroup, in bytes that it could move: that of its copies and stores, or of its
// multiply-adds.
double cost_of(const BwdDataArgs& a, const DepthwiseBoxLimits& limits, const DepthwiseBoxes& boxes) {
    const int vector = limits.channels / 32;
    const int read = limits.positions + limits.taps - 1;
    const int instructions =
        limits.rows * (read * (1 + vector) + limits.positions * limits.taps * vector) + 4 * limits.positions;
    const double computed =
        double{kMovedBytes} / kIssues * instructions * limits.warps * ceil_div(boxes.units, limits.warps);
    const double moved = boxes.stage_bytes + double{DepthwiseBoxes::pitch} * boxes.images * boxes.rows * boxes.columns;
    const double tile = std::max(computed, moved) * (boxes.stages < 3 ? 1.25 : 1.) + kTileBytes +
                        (boxes.workgroups % boxes.channel_blocks == 0 ? 0 : kWeightBytes);
    return static_cast<double>(divide_up(tiles_of(a, boxes), boxes.workgroups)) * tile;
}

// The tiles with the lowest cost: whole images, rows or parts of rows. If the number of workgroups is a multiple of the
// channel blocks, a workgroup always has the same weights.
DepthwiseBoxes best_boxes(const BwdDataArgs& a, const DepthwiseBoxLimits& limits, int compute_units) {
    DepthwiseBoxes best{};
    double least = 0;
    const auto compare = [&](int columns, int rows, int images) {
        DepthwiseBoxes boxes = boxes_of(a, limits, columns, rows, images);
        if(boxes.stages < 2)
            return false;
        for(const int workgroups : {compute_units, compute_units / boxes.channel_blocks * boxes.channel_blocks}) {
            boxes.workgroups = workgroups;
            if(workgroups == 0)
                continue;
            const double cost = cost_of(a, limits, boxes);
            if(best.stages == 0 || cost < least) {
                best = boxes;
                least = cost;
            }
        }
        return true;
    };
    const int most_columns = kMostBoxEdge / 2;
    const int first = ceil_div(a.in_length[1], most_columns);
    for(int division = 0; division < kDivisions; ++division) {
        const int parts = first + division * std::max(1, first / 2);  // of long rows up to four times as many
        const int columns = ceil_div(a.in_length[1], parts);
        const int line = (columns + limits.positions + limits.taps) * DepthwiseBoxes::pitch;
        const int most_rows = std::min(kMostBoxEdge, limits.lds_bytes / 2 / line) - limits.rows;
        if(most_rows < 1)
            continue;
        const int whole = ceil_div(a.in_length[0], most_rows);
        for(int bands = whole; bands < whole + kDivisions; ++bands)
            compare(columns, ceil_div(a.in_length[0], bands), 1);
        for(int images = 2; parts == 1 && whole == 1 && images <= std::min(a.images, kDivisions); ++images)
            if(!compare(columns, a.in_length[0], images))
                break;
    }
    return best;
}

}  // namespace

std::string plan_depthwise_boxes(BwdDataPlan& plan, const BwdDataTraits& t, const Problem& p, const Fusion& fusion,
                                 const Addresses& at, int compute_units) {
    BwdDataArgs& a = plan.args;
    std::string reason = check_groups(t, p, at, t.written_bytes);
    if(reason.empty())
        reason = check_d(t, p, fusion);
    if(reason.empty())
        reason = check_boxes(t, p, a);
    if(!reason.empty())
        return reason;
    DepthwiseBoxes boxes = best_boxes(a, t.boxes, compute_units);
    if(boxes.stages == 0)
        return refuse("depthwise-filter", "two boxes of rows of " + number(a.in_length[1]) +
                                              " positions with their halo do not fit shared memory");
    const int64 tiles = tiles_of(a, boxes);
    if(tiles < 0 || tiles + compute_units > kMostRows)
        return refuse("depthwise-size", "images * positions do not fit 31 bits");
    boxes.tiles = static_cast<int32>(tiles);
    boxes.workgroups = std::min(boxes.tiles, boxes.workgroups);
    boxes.by_segments = Divider::by(boxes.segments);
    boxes.by_rows = Divider::by(boxes.rows);
    boxes.by_channel_blocks = Divider::by(boxes.channel_blocks);
    boxes.by_column_tiles = Divider::by(boxes.column_tiles);
    boxes.by_row_tiles = Divider::by(boxes.row_tiles);
    plan.boxes = boxes;
    plan.split_k = a.split_k = 1;
    a.blocks_with_taps = static_cast<uint32>(boxes.workgroups);
    return {};
}

}  // namespace ckgen::conv
