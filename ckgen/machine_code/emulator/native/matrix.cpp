// Matrix instructions: D = A B + C of a wave, in the register maps of AMD's instruction set documents.
// MFMA: "AMD Instinct MI300 CDNA3 ISA", 7.1.4. WMMA: "RDNA3 ISA", 7.9, and "RDNA4 ISA", 7.12. The maps of D and of the
// inputs are described by numbers in Ins::p; ckgen/machine_code/emulator/matrix.py makes them.
#include "floats.hpp"
#include "machine.hpp"
#include "numbers.hpp"

namespace emu {

namespace {

// From kByte on: the formats of byte_to_f32().
enum Type : u32 { kF16, kBf16, kF32, kI8, kU8, kXf32, kByte };
// Indices of Ins::p after that of core.cpp.
enum MatrixParameter { kLanesFlag, kRowsA, kColumnsB, kDepth, kTypeA, kTypeB, kMapInput, kMapResult, kTypeD, kNegate };
enum MapInput : u32 { kLaneGroups, kDuplicated, kInterleaved };
enum MapResult : u32 { kFourRows, kAlternating, kEightRows };

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

// The lane and register part of every element, for the shape of one instruction.
struct Places {
    u32 key[7] = {};
    u16 a[kMost * kDeepest], b[kMost * kDeepest], d[kMost * kMost];  // at * kLanes + lane
};

const Places& places_of(const Wave& w, const Ins& i) {
    static thread_local Places known;
    const u32 key[7] = {i.p[kRowsA], i.p[kColumnsB], i.p[kDepth], i.p[kMapInput], i.p[kMapResult], u32(w.size), 1};
    if(std::memcmp(key, known.key, sizeof key) == 0)
        return known;
    std::memcpy(known.key, key, sizeof key);
    int lane;
    u32 at;
    for(u32 k = 0; k < i.p[kDepth]; ++k) {
        for(u32 row = 0; row < i.p[kRowsA]; ++row) {
            input_place(w, i, i.p[kRowsA], row, k, lane, at);
            known.a[row * kDeepest + k] = u16(at * kLanes + lane);
        }
        for(u32 column = 0; column < i.p[kColumnsB]; ++column) {
            input_place(w, i, i.p[kColumnsB], column, k, lane, at);
            known.b[k * kMost + column] = u16(at * kLanes + lane);
        }
    }
    for(u32 row = 0; row < i.p[kRowsA]; ++row)
        for(u32 column = 0; column < i.p[kColumnsB]; ++column) {
            result_place(w, i, row, column, lane, at);
            known.d[row * kMost + column] = u16(at * kLanes + lane);
        }
    return known;
}

// The elements of an operand as [element of a lane][lane]. How XF32 drops the low 13 bits of an f32 is not documented
// ("CDNA3 ISA", 7.1); here they are cut off. Kernels round before, so that nothing is left to drop.
void unpack(const Wave& w, const Ins& i, int operand, u32 type, u32 count, f32* to) {
    const u16 code = i.s[operand];
    const u32 per_word = type == kF32 || type == kXf32 ? 1 : type == kF16 || type == kBf16 ? 2 : 4;
    for(u32 at = 0; at < count; ++at) {
        u32 space[kLanes];
        const u32* words = source(w, i, operand, space, code < kConstant ? int(at / per_word) : 0);
        const u32 shift = at % per_word * (32 / per_word);
        f32* row = to + at * kLanes;
        for(int lane = 0; lane < kLanes; ++lane) {
            const u32 bits = words[lane] >> shift;
            row[lane] = type == kF16    ? f16_value(u16(bits))
                        : type == kBf16 ? bits_as<f32>(bits << 16)
                        : type == kI8   ? f32(i8(bits))
                        : type == kU8   ? f32(u8(bits))
                        : type == kXf32 ? bits_as<f32>(bits & ~0x1fffu)
                        : type >= kByte ? byte_to_f32(u8(bits), type - kByte)
                                        : bits_as<f32>(bits);
        }
    }
}

struct Work {
    f32 a[kDeepest * kLanes], b[kDeepest * kLanes];  // [element of a lane][lane]
    alignas(64) f32 columns[kDeepest][kMost];
    u32 result[kMost][kMost];
};

void multiply_row(const Ins& i, Work& work, const Places& places, u32 row, const u32* start) {
    const u32 depth = i.p[kDepth], columns = i.p[kColumnsB];
    if(i.p[kTypeA] == kI8 || i.p[kTypeA] == kU8) {
        for(u32 column = 0; column < columns; ++column) {
            i32 sum = i32(start[column]);
            for(u32 k = 0; k < depth; ++k)
                sum += i32(work.a[places.a[row * kDeepest + k]]) * i32(work.columns[k][column]);
            work.result[row][column] = u32(sum);
        }
        return;
    }
    alignas(64) f32 sum[kMost] = {};
    std::memcpy(sum, start, columns * sizeof *sum);
    for(u32 k = 0; k < depth; ++k) {
        const f32 a = work.a[places.a[row * kDeepest + k]];
        for(u32 column = 0; column < kMost; ++column)
            sum[column] = __builtin_fmaf(a, work.columns[k][column], sum[column]);
    }
    std::memcpy(work.result[row], sum, sizeof sum);
}

}  // namespace

// Products are added in ascending k, each sum rounded to f32. The hardware's order and rounding are not documented.
void matrix_multiply(Wave& w, const Ins& i) {
    static thread_local Work work;
    const Places& places = places_of(w, i);
    const u32 copies = i.p[kMapInput] == kDuplicated ? u32(w.size) / i.p[kRowsA] : 1;
    unpack(w, i, 0, i.p[kTypeA], i.p[kRowsA] * i.p[kDepth] * copies / u32(w.size), work.a);
    unpack(w, i, 1, i.p[kTypeB], i.p[kColumnsB] * i.p[kDepth] * copies / u32(w.size), work.b);
    for(u32 k = 0; k < i.p[kDepth]; ++k)
        for(u32 column = 0; column < i.p[kColumnsB]; ++column)
            work.columns[k][column] = work.b[places.b[k * kMost + column]];
    const u32* rows = i.s[2] < kRows ? w.v[i.s[2]] : nullptr;
    for(u32 row = 0; row < i.p[kRowsA]; ++row) {
        u32 start[kMost];
        for(u32 column = 0; column < i.p[kColumnsB]; ++column)
            start[column] = rows != nullptr ? rows[places.d[row * kMost + column]] : scalar32(w, i, 2);
        multiply_row(i, work, places, row, start);
    }
    u32* to = w.v[i.d0];
    for(u32 row = 0; row < i.p[kRowsA]; ++row)
        for(u32 column = 0; column < i.p[kColumnsB]; ++column)
            to[places.d[row * kMost + column]] = work.result[row][column];
}

}  // namespace emu
