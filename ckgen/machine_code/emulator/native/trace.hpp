// The record of a launch, for a model of its time: one event per wave instruction, and the address of each lane of an
// access to memory or LDS. Nothing is recorded unless Launch::trace is set.
#pragma once

#include "wave.hpp"

namespace emu {

struct TraceEvent {
    u32 ins;  // index of the instruction
    u16 block, wave;
    u64 first;  // of its addresses in Trace::addresses
    u32 count;  // of addresses: the lanes of a wave, twice for two places in LDS, 0 if it does not access memory
    u32 reserved;
};

inline constexpr u64 kNoAddress = ~u64(0);  // an inactive lane, or one past the end of a buffer

struct Trace {
    std::vector<TraceEvent> events;
    std::vector<u64> addresses;

    void add(u32 ins, u32 block, int wave) { events.push_back({ins, u16(block), u16(wave), addresses.size(), 0, 0}); }
    // The last event accesses memory.
    void open(u32 count) {
        events.back().count = count;
        addresses.resize(addresses.size() + count, kNoAddress);
    }
    void note(u32 lane, u64 address) { addresses[events.back().first + lane] = address; }
};

}  // namespace emu
