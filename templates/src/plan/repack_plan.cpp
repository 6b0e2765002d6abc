// Planning of the copy of the output into rows of a multiple of 16 bytes.
#include "ckgen/plan/repack_plan.hpp"

#include "ckgen/plan/problem_checks.hpp"

namespace ckgen::conv {
namespace {

constexpr int kCopyVector = 8;  // elements of 16 bytes
constexpr int kCopyLine = 64;   // elements of 128 bytes: a cache line, and the channels of a TMA box

}  // namespace

RepackArgs repack_args(const Problem& p, int elem_bytes, double padding) {
    RepackArgs args{};
    args.positions = p.gemm_k();
    args.groups = static_cast<int32>(p.groups());
    args.columns = static_cast<int32>(p.out_channels());
    args.position_stride = p.out.position_stride(p.ndim);
    args.group_stride = p.out.strides[0];
    args.source_bytes =
        ((args.positions - 1) * args.position_stride + (args.groups - 1) * args.group_stride + args.columns) *
        elem_bytes;
    const int lines = ceil_div(args.columns, kCopyLine) * kCopyLine;
    args.pitch =
        lines - args.columns <= args.columns * padding ? lines : ceil_div(args.columns, kCopyVector) * kCopyVector;
    return args;
}

std::string place_copy(Workspace& workspace, const RepackArgs& copy, int elem_bytes) {
    constexpr int64 alignment = 256;
    workspace.copy_offset = divide_up(workspace.partial_bytes, alignment) * alignment;
    workspace.copy_bytes = int64{copy.pitch} * elem_bytes;
    if(!multiply(workspace.copy_bytes, copy.groups) || !multiply(workspace.copy_bytes, copy.positions) ||
       workspace.copy_bytes > (int64{1} << 42))
        return refuse("workspace-size", "a copy of the output needs more than 2^42 bytes");
    return {};
}

}  // namespace ckgen::conv
