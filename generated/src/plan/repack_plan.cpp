// Copied by ckgen from templates/src/plan/repack_plan.cpp. Do not edit; run: ckgen generate
// Planning of the copy of the output into rows of a multiple of 16 bytes, and of that of a weight to channels last.
#include "ckgen/plan/repack_plan.hpp"

#include <algorithm>

#include "ckgen/plan/plan.hpp"
#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::conv {
namespace {

constexpr int kCopyVector = 8;  // 16-bit elements of 16 bytes
constexpr int kCopyLine = 64;   // and of 128 bytes: a cache line, and the channels of a TMA box
constexpr int kMostTaps = 64;   // of a tile of the weight: then it has as many channels

std::string place(const Workspace& workspace, CopyPlace& copy, const char* tensor, int64 bytes, int64 groups,
                  int64 rows) {
    constexpr int64 alignment = 256;
    copy.offset = divide_up(workspace.bytes(), alignment) * alignment;
    copy.bytes = bytes;
    if(!multiply(copy.bytes, groups) || !multiply(copy.bytes, rows) || copy.bytes > (int64{1} << 42))
        return refuse("workspace-size", std::string("a copy of the ") + tensor + " needs more than 2^42 bytes");
    return {};
}

// Tiles of a row of the weight.
int tiles_of(const WeightCopyArgs& args) {
    return ceil_div(args.pitch, args.tile_channels) * ceil_div(args.target_taps, args.tile_taps);
}

// The copy with its division into tiles and workgroups.
WeightCopyArgs in_tiles(WeightCopyArgs args) {
    if(args.last_channels == 0)
        args.last_channels = args.channels;
    args.target_taps = std::max(args.taps, args.target_taps);
    args.tile_taps = std::min(args.taps, kMostTaps);
    args.tile_channels =
        std::min(args.pitch, kWeightCopyElements / (args.tile_taps | 1) / kCopyLine * kCopyLine);  // whole lines
    args.row_blocks = static_cast<int32>(std::min<int64>(args.rows, std::max(1, kWeightCopyBlocks / tiles_of(args))));
    return args;
}

}  // namespace

RepackArgs repack_args(const Problem& p, TensorName name, int elem_bytes, double padding) {
    const Tensor& tensor = p.tensor(name);
    const int halves = elem_bytes / 2;  // of an element
    RepackArgs args{};
    args.positions = p.images();
    for(int d = 0; d < p.ndim; ++d)
        args.positions *= tensor.lengths[3 + d];
    args.groups = static_cast<int32>(p.groups());
    args.columns = static_cast<int32>(tensor.lengths[kChannels] * halves);
    args.position_stride = tensor.position_stride(p.ndim) * halves;
    args.group_stride = tensor.strides[0] * halves;
    args.source_bytes =
        ((args.positions - 1) * args.position_stride + (args.groups - 1) * args.group_stride + args.columns) * 2;
    const int lines = ceil_div(args.columns, kCopyLine) * kCopyLine;
    args.pitch =
        lines - args.columns <= args.columns * padding ? lines : ceil_div(args.columns, kCopyVector) * kCopyVector;
    return args;
}

std::string place_copy(Workspace& workspace, TensorName name, const RepackArgs& copy) {
    CopyPlace& target = name == TensorName::in ? workspace.in : workspace.out;
    return place(workspace, target, word_of(name), copy.group_bytes(), copy.groups, copy.positions);
}

std::string check_weight_copy(const Problem& p, int vector) {
    const int64 row = divide_up(p.in_channels(), vector) * vector * p.taps();
    if(row > kMostRows)
        return refuse("workspace-size", "C * taps = " + number(row) + " of a weight to copy does not fit 31 bits");
    return {};
}

WeightCopyArgs weight_copy_args(const Problem& p, int elem_bytes, int vector, bool channels_last) {
    WeightCopyArgs args{};
    args.rows = p.groups() * p.out_channels() * (channels_last ? p.taps() : 1);
    args.channels = static_cast<int32>(p.in_channels());
    args.taps = channels_last ? 1 : static_cast<int32>(p.taps());
    args.pitch = static_cast<int32>(divide_up(p.in_channels(), vector) * vector);
    args.elem_bytes = elem_bytes;
    return in_tiles(args);
}

WeightCopyArgs weight_transposition_args(const Problem& p, int elem_bytes, int parts, int64 least_taps) {
    WeightCopyArgs args{};
    args.rows = p.groups();
    args.channels = static_cast<int32>(p.out_channels());
    args.taps = static_cast<int32>(p.taps() * p.in_channels());
    args.target_taps = static_cast<int32>(least_taps);
    args.pitch = transposed_pitch(args.channels);
    args.elem_bytes = elem_bytes;
    args.parts = parts;
    return in_tiles(args);
}

WeightCopyArgs weight_row_copy_args(const Problem& p, int elem_bytes, int64 row, int64 piece, int pitch) {
    WeightCopyArgs args{};
    args.pieces = static_cast<int32>(divide_up(row, piece));
    args.rows = p.wei_elements() / row * args.pieces;
    args.channels = static_cast<int32>(piece);
    args.last_channels = static_cast<int32>(row - (args.pieces - 1) * piece);
    args.taps = 1;
    args.pitch = pitch;
    args.elem_bytes = elem_bytes;
    return in_tiles(args);
}

bool is_repack(const WeightCopyArgs& args) {
    return args.taps == 1 && args.target_taps == 1 && args.pieces == 1 && args.parts == 1 && args.elem_bytes > 1 &&
           args.pitch * args.elem_bytes % 16 == 0 && reinterpret_cast<uintptr_t>(args.source) % 16 == 0;
}

RepackArgs as_repack(const WeightCopyArgs& args) {
    const int halves = args.elem_bytes / 2;
    RepackArgs copy{};
    copy.source = args.source;
    copy.target = args.target;
    copy.positions = args.rows;
    copy.groups = 1;
    copy.columns = args.last_channels * halves;  // of the only piece of a row
    copy.position_stride = copy.group_stride = copy.columns;
    copy.source_bytes = args.rows * copy.columns * 2;
    copy.pitch = args.pitch * halves;
    return copy;
}

uint32 weight_copy_blocks(const WeightCopyArgs& args) {
    return static_cast<uint32>(args.row_blocks) * static_cast<uint32>(tiles_of(args));
}

Problem with_copied_weight(Problem p, const WeightCopyArgs& copy) {
    int64 step = copy.pitch;
    p.wei.strides[kChannels] = 1;
    for(int d = p.ndim - 1; d >= 0; --d) {
        p.wei.strides[3 + d] = step;
        step *= p.wei.lengths[3 + d];
    }
    p.wei.strides[1] = step;
    p.wei.strides[0] = step * p.out_channels();
    return p;
}

std::string place_copy(Workspace& workspace, const WeightCopyArgs& copy) {
    return place(workspace, workspace.wei, "weight", int64{copy.pitch} * copy.elem_bytes * copy.parts, copy.target_taps,
                 copy.rows);
}

}  // namespace ckgen::conv
