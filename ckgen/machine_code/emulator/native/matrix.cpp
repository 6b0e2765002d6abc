// Matrix instructions: D = A B + C of a wave, in the register maps of AMD's instruction set documents.
// MFMA: "AMD Instinct MI300 CDNA3 ISA", 7.1.4. WMMA: "RDNA3 ISA", 7.9, and "RDNA4 ISA", 7.12. The maps of D and of the
// inputs are described by numbers in Ins::p; ckgen/machine_code/emulator/matrix.py makes them.
#include "machine.hpp"
#include "numbers.hpp"

namespace emu {

namespace {

enum Type : u32 { kF16, kBf16, kF32, kI8, kU8, kF64, kFp8, kBf8 };
// Indices of Ins::p after that of core.cpp.
enum MatrixParameter { kLanesFlag, kRowsA, kColumnsB, kDepth, kTypeA, kTypeB, kMapInput, kMapResult, kTypeD, kNegate };
enum MapInput : u32 { kLaneGroups, kDuplicated, kInterleaved };
enum MapResult : u32 { kFourRows, kAlternating, kEightRows };

f32 element(const Wave& w, u16 code, u32 type, int lane, u32 at, const Ins& i, int operand) {
    const auto word = [&](u32 k) {
        return code < kRows ? w.v[code + k][lane] : code < kConstant ? w.s[code - kScalar + k] : u32(i.imm[operand]);
    };
    switch(type) {
    case kF16:
        return f16_value(u16(word(at / 2) >> 16 * (at % 2)));
    case kBf16:
        return bits_as<f32>((word(at / 2) >> 16 * (at % 2) & 0xffff) << 16);
    case kI8:
        return f32(i8(word(at / 4) >> 8 * (at % 4)));
    case kU8:
        return f32(u8(word(at / 4) >> 8 * (at % 4)));
    default:
        return bits_as<f32>(word(at));
    }
}

// The lane and place in its registers of element k of row (or column) `row`.
void input_place(const Wave& w, const Ins& i, u32 rows, u32 row, u32 k, int& lane, u32& at) {
    const u32 depth = i.p[kDepth], groups = u32(w.size) / rows;
    if(i.p[kMapInput] == kDuplicated) {  // every group of lanes holds the whole row
        lane = int(row), at = k;
    } else if(i.p[kMapInput] == kInterleaved) {  // gfx12: the halves of a lane's elements are `depth / 2` apart
        const u32 half = depth / (2 * groups);
        lane = int(row + rows * (k / half % groups)), at = k % half + half * (k / (half * groups));
    } else {
        const u32 per_lane = depth / groups;
        lane = int(row + rows * (k / per_lane)), at = k % per_lane;
    }
}

void result_place(const Wave& w, const Ins& i, u32 row, u32 column, int& lane, u32& at) {
    const u32 columns = i.p[kColumnsB], groups = u32(w.size) / columns;
    if(i.p[kMapResult] == kAlternating)  // gfx11: rows alternate between the groups of lanes
        lane = int(column + columns * (row % groups)), at = row / groups;
    else if(i.p[kMapResult] == kEightRows) {
        const u32 per_lane = i.p[kRowsA] / groups;
        lane = int(column + columns * (row / per_lane)), at = row % per_lane;
    } else
        lane = int(column + columns * (row / 4 % groups)), at = row % 4 + 4 * (row / 4 / groups);
}

constexpr u32 kMost = 32, kDeepest = 64;

struct Inputs {
    f32 a[kMost][kDeepest], b[kDeepest][kMost];
};

void gather(const Wave& w, const Ins& i, Inputs& in) {
    int lane;
    u32 at;
    for(u32 k = 0; k < i.p[kDepth]; ++k) {
        for(u32 row = 0; row < i.p[kRowsA]; ++row) {
            input_place(w, i, i.p[kRowsA], row, k, lane, at);
            in.a[row][k] = element(w, i.s[0], i.p[kTypeA], lane, at, i, 0);
        }
        for(u32 column = 0; column < i.p[kColumnsB]; ++column) {
            input_place(w, i, i.p[kColumnsB], column, k, lane, at);
            in.b[k][column] = element(w, i.s[1], i.p[kTypeB], lane, at, i, 1);
        }
    }
}

}  // namespace

// Products are added in ascending k, each sum rounded to f32. The hardware's order and rounding are not documented.
void matrix_multiply(Wave& w, const Ins& i) {
    static thread_local Inputs in;
    gather(w, i, in);
    const u32 depth = i.p[kDepth], columns = i.p[kColumnsB];
    int lane;
    u32 at;
    u32 result[kMost][kMost];
    for(u32 row = 0; row < i.p[kRowsA]; ++row) {
        alignas(64) f32 sum[kMost];
        i32 whole[kMost];
        for(u32 column = 0; column < columns; ++column) {
            result_place(w, i, row, column, lane, at);
            const u32 start = i.s[2] < kRows       ? w.v[i.s[2] + at][lane]
                              : i.s[2] < kConstant ? w.s[i.s[2] - kScalar + at]
                                                   : u32(i.imm[2]);
            sum[column] = bits_as<f32>(start), whole[column] = i32(start);
        }
        if(i.p[kTypeA] == kI8 || i.p[kTypeA] == kU8) {
            for(u32 k = 0; k < depth; ++k)
                for(u32 column = 0; column < columns; ++column)
                    whole[column] += i32(in.a[row][k]) * i32(in.b[k][column]);
            std::memcpy(result[row], whole, sizeof whole);
            continue;
        }
        for(u32 k = 0; k < depth; ++k)
            for(u32 column = 0; column < kMost; ++column)
                sum[column] = __builtin_fmaf(in.a[row][k], in.b[k][column], sum[column]);
        std::memcpy(result[row], sum, sizeof sum);
    }
    for(u32 row = 0; row < i.p[kRowsA]; ++row)
        for(u32 column = 0; column < columns; ++column) {
            result_place(w, i, row, column, lane, at);
            w.v[i.d0 + at][lane] = result[row][column];
        }
}

}  // namespace emu
