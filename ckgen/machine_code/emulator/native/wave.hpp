// State of one wave and the form of a decoded instruction. ckgen/machine_code/emulator/instruction.py has the same
// layout of Ins.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

namespace emu {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i8 = std::int8_t;
using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

inline constexpr int kLanes = 64;
inline constexpr int kRows = 512;  // VGPRs, then AGPRs
// Codes of operands: a row of vector registers, 1024 + a scalar register, or the constant in `imm`.
inline constexpr u16 kScalar = 1024, kConstant = 2048, kNone = 4095;
// Scalar registers beside the numbered ones. Both encodings of M0 and of NULL become these.
inline constexpr int kVcc = 106, kM0 = 124, kExec = 126, kNull = 128, kScc = 129, kScalars = 132;

struct Wave;
struct Ins;
using Handler = void (*)(Wave&, const Ins&);

// `count` registers from `code` on that an instruction reads or writes.
struct Range {
    u16 code;
    u8 count;
    u8 write;
};

inline constexpr int kRanges = 10;
inline constexpr u32 kNoOrigin = ~0u;

struct Ins {
    Handler run;
    u64 imm[4];
    u32 offset;  // of the instruction from the start of the code
    u32 size;
    u16 s[4];
    u16 d0, d1;
    u16 kind;    // a value of Kind
    u16 ranges;  // how many of `range` are used
    u32 p[10];   // parameters of memory, matrix and control instructions
    Range range[kRanges];
};

enum Kind : u16 { kAlu, kMemory, kWait, kBarrier, kSignal, kBarrierWait, kEnd, kBranch, kNothing };

// A load whose data has not arrived, or a store. The data waits here until an instruction waits for it.
struct Pending {
    u32 ins = 0;          // index of the instruction
    u16 code = kNone;     // first register
    u8 count = 0;         // registers
    bool scalar = false;  // a scalar load: these complete in any order
    u64 lanes = 0;
    i32 lds_op = -1;        // the access to LDS that this completes
    i32 twin = 0;           // != 0: a flat access, which two counters count
    std::vector<u32> data;  // [register][lane], or [register] for a scalar load
};

enum Queue { kLoads, kStores, kLds, kScalarLoads, kQueues };

struct Wave {
    alignas(64) u32 v[kRows][kLanes];
    alignas(64) u32 lane_mask[kLanes];  // all ones for active lanes
    u32 s[kScalars];
    u64 unknown[kRows];               // lanes in which a row has undefined bits
    u32 unknown_bits[kRows][kLanes];  // valid where `unknown` says so
    u32 unknown_scalar[kScalars];     // undefined bits of scalar registers
    u32 origin[kRows];                // the instruction that first made undefined bits of a row, kNoOrigin at the start
    u32 origin_scalar[kScalars];
    u8 waiting[kRows];  // loads that are pending for a row
    u8 waiting_scalar[kScalars];
    u32 index;           // of the next instruction
    u32 waits, signals;  // passed barriers: `signals` orders what came before, `waits` what comes after
    int number, size;
    bool jumped;
    int pending;  // loads in the queues
    std::deque<Pending> queue[kQueues];
    void* group;

    u64 exec() const { return pair(kExec); }
    u64 pair(int at) const { return u64(s[at]) | u64(s[at + 1]) << 32; }
    void set_pair(int at, u64 value) {
        s[at] = u32(value);
        s[at + 1] = u32(value >> 32);
    }
    void exec_changed() {
        const u64 mask = exec();
        for(int lane = 0; lane < kLanes; ++lane)
            lane_mask[lane] = mask >> lane & 1 ? ~0u : 0u;
    }
};

// A 32-bit source as an array over lanes; a scalar is copied to `space`.
inline const u32* source(const Wave& w, const Ins& i, int at, u32* space, int part = 0) {
    const u16 code = i.s[at];
    if(code < kRows)
        return w.v[code + part];
    const u32 value =
        code < kConstant ? (code == kScalar + kNull ? 0 : w.s[code - kScalar + part]) : u32(i.imm[at] >> 32 * part);
    for(int lane = 0; lane < kLanes; ++lane)
        space[lane] = value;
    return space;
}

inline u32 scalar32(const Wave& w, const Ins& i, int at) {
    const u16 code = i.s[at];
    return code >= kConstant ? u32(i.imm[at]) : code < kRows ? w.v[code][0] : w.s[code - kScalar];
}
inline u64 scalar64(const Wave& w, const Ins& i, int at) {
    const u16 code = i.s[at];
    if(code >= kConstant)
        return i.imm[at];
    return code == kScalar + kNull ? 0 : w.pair(code - kScalar);
}
inline void write32(Wave& w, u16 code, u32 value) {
    if(code != kScalar + kNull && code != kNone)
        w.s[code - kScalar] = value;
}
inline void write64(Wave& w, u16 code, u64 value) {
    if(code != kScalar + kNull && code != kNone)
        w.set_pair(code - kScalar, value);
}
// A mask over lanes: 64 bits, or 32 in a wave of 32.
inline u64 read_mask(const Wave& w, u16 code) {
    if(code == kScalar + kNull)
        return 0;
    return w.size == 64 ? w.pair(code - kScalar) : w.s[code - kScalar];
}
inline void write_mask(Wave& w, u16 code, u64 value) {
    if(w.size == 64)
        write64(w, code, value);
    else
        write32(w, code, u32(value));
}

}  // namespace emu
