// Copied by ckgen from templates/src/plan/repack_plan.cpp. Do not edit; run: ckgen generate
// Planning of the copy of the output into rows of a multiple of 16 bytes.
#include "ckgen/plan/repack_plan.hpp"

namespace ckgen::conv {
namespace {

constexpr int kCopyVector = 8;  // elements of 16 bytes
constexpr int kCopyLine = 64;   // elements of 128 bytes: a line of the cache, and what one box of the copy engine takes

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

}  // namespace ckgen::conv
