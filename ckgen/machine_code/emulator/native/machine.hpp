// Memory, LDS and faults of a launch.
#pragma once

#include <random>
#include <string>

#include "trace.hpp"

namespace emu {

// Forbidden behaviour. `other` is the index of the instruction on the other side, -1 if there is none.
struct Fault {
    std::string what;
    i64 other = -1;
    i64 other_wave = -1;
};

// An array at an address that no other array is near: between regions lie terabytes that nothing may touch.
struct Region {
    u64 start, size;
    u8* data;
    u8* known;    // per byte: 1 if it has a value; null if all have one
    u64* writer;  // per byte: who wrote it last in this launch, 0 for nobody, kAtomics; null for inputs
};

// Writers of a byte: the mark of atomic operations, and atomic operations of more than one wave.
inline constexpr u64 kAtomicMark = u64(1) << 63, kAtomics = ~u64(0);
// Kinds of atomic operations, as in accesses.py.
enum Atomic : u32 { kNoAtomic, kAddF32, kAddPairF16 };

// One access of a wave to LDS, for as long as others can conflict with it.
struct LdsOp {
    u32 ins;
    i16 wave;
    bool write, to_lds;
    u32 done;  // the wave's `signals` when a wait had completed the access
};
inline constexpr u32 kNotDone = ~0u;

struct LdsByte {
    u8 value, known;
    i32 writer = -1, reader = -1, other_reader = -1;  // numbers of LdsOps
};

struct Launch {
    const Ins* code;
    u32 count;
    Region* regions;
    u32 region_count;
    u32 lds_bytes, scratch_bytes;
    u32 wave_size, threads;
    u32 blocks;
    u32 kernarg_register, block_register;  // block_register: its number in s[], or kScalars if none is given
    u32 extent_x, extent_y;                // of the grid; the number of a workgroup counts x first, then y
    u32 y_register, z_register;            // for the place in y and z; kScalars if the kernel does not want it
    u64 kernarg;
    u32 unordered_stores;  // 1: stores have a counter of their own
    u32 late;              // 1: waves switch at random; 0: each runs to its barrier
    u64 seed;
    u64 max_steps;
    Trace* trace;  // null: nothing is recorded
};

struct Report {
    u64 steps, accesses;
    i64 ins, other, wave, other_wave, block;
    u64 used;  // instructions of the code that were executed at least once
    char what[480];
};

struct Group {
    const Launch* launch;
    u32 block;
    std::vector<LdsByte> lds;
    std::vector<LdsOp> ops;
    std::vector<Wave*> waves;
    std::vector<std::vector<u8>> scratch;  // per wave: [lane][byte], then whether it has a value
    std::mt19937_64 random;
    u64 accesses = 0;

    // Record the address of a lane of the access that runs.
    void note(u32 lane, u64 address) const {
        if(launch->trace)
            launch->trace->note(lane, address);
    }
};

inline Group& group_of(Wave& w) { return *static_cast<Group*>(w.group); }

// Memory accesses by real address.
Region& region_of(const Launch& launch, u64 address, u32 bytes, bool write);
void load_bytes(Wave& w, const Ins& i, u64 address, u32 bytes, u8* to, u8* known);
void store_bytes(Wave& w, const Ins& i, u64 address, u32 bytes, const u8* from);
void atomic_bytes(Wave& w, const Ins& i, u64 address, u32 bytes, const u8* from, u32 what);

// LDS. The access's number is from begin_lds_op().
i32 begin_lds_op(Wave& w, const Ins& i, bool write, bool to_lds);
void lds_load(Wave& w, const Ins& i, i32 op, u32 address, u32 bytes, u8* to, u8* known);
void lds_store(Wave& w, const Ins& i, i32 op, u32 address, u32 bytes, const u8* from, const u8* known);

// Waits: complete pending operations until at most `left` of a queue are pending.
void wait_for(Wave& w, Queue queue, u32 left);
void enqueue(Wave& w, Queue queue, Pending&& pending);

// Registers that hold no value.
void mark_known(Wave& w, u16 code, u32 count, u64 lanes);
void need_known(const Wave& w, u16 code, u32 count, u64 lanes, const char* use);

// Handlers of the instructions that are not pseudocode.
void memory_access(Wave& w, const Ins& i);
void scalar_load(Wave& w, const Ins& i);
void matrix_multiply(Wave& w, const Ins& i);

}  // namespace emu
