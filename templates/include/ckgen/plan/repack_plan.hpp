// Planning of the copies that the main kernel reads: load/repack.hpp and load/weight_copy.hpp.
#pragma once

#include "ckgen/conv/problem.hpp"
#include "ckgen/conv/repack_args.hpp"
#include "ckgen/conv/weight_copy_args.hpp"

namespace ckgen::conv {

// A copy in a run's workspace. The offset is a multiple of 256; without a copy there are 0 bytes.
struct CopyPlace {
    int64 offset = 0, bytes = 0;
};

// The parts of a run's workspace.
struct Workspace {
    // f32 partials of all splits, at the start; 0 with split_k 1. For persistent kernels also those of sums that are
    // cut into several.
    int64 partial_bytes = 0;
    CopyPlace in, wei, out;  // the weight, and the others with longer rows

    int64 bytes() const {
        int64 end = partial_bytes;
        for(const CopyPlace& copy : {in, wei, out})
            end = copy.bytes > 0 && copy.offset + copy.bytes > end ? copy.offset + copy.bytes : end;
        return end;
    }
    const CopyPlace& of(TensorName name) const {
        return name == TensorName::in ? in : name == TensorName::wei ? wei : out;
    }
};

// Arguments of the copy of the input or of the output, whose positions are at one distance, for TMA, which reads rows
// of a multiple of 16 bytes; without pointers. Rows are padded to whole 128-byte lines if that adds at most `padding`
// times their bytes.
RepackArgs repack_args(const Problem& problem, TensorName tensor, int elem_bytes, double padding);
// Refuse a weight whose rows have too many elements for a copy with channels in whole vectors: what the following
// functions take.
std::string check_weight_copy(const Problem& problem, int vector);
// Arguments of the copy of a weight to channels last, in rows of whole vectors; without pointers.
WeightCopyArgs weight_copy_args(const Problem& problem, int elem_bytes, int vector, bool channels_last);
// The same from GKYXC, where each element of [Y][X][C] counts as a tap, to G, Y, X, C, K. With fewer than `least_taps`
// of them, zeros follow.
WeightCopyArgs weight_transposition_args(const Problem& problem, int elem_bytes, int parts, int64 least_taps = 0);
// The same of packed rows of `row` elements in pieces, each to a row of `pitch` elements.
WeightCopyArgs weight_row_copy_args(const Problem& problem, int elem_bytes, int64 row, int64 piece, int pitch);
// True if a copy with pointers only makes the weight's rows longer, which load/repack.hpp does with vectors of 16
// bytes; its arguments for that.
bool is_repack(const WeightCopyArgs& args);
RepackArgs as_repack(const WeightCopyArgs& args);
// Workgroups of that copy.
uint32 weight_copy_blocks(const WeightCopyArgs& args);
// The problem with the copy in place of its weight.
Problem with_copied_weight(Problem problem, const WeightCopyArgs& copy);

// Place a copy after what the workspace has; refuse a copy of more than 2^42 bytes.
std::string place_copy(Workspace& workspace, TensorName tensor, const RepackArgs& copy);
std::string place_copy(Workspace& workspace, const WeightCopyArgs& copy);

}  // namespace ckgen::conv
