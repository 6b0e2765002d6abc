// Memory instructions: buffer, global, flat, scratch, LDS and scalar loads. Fields and bounds: "CDNA3 ISA" and
// "RDNA3 ISA", chapters about vector and scalar memory.
#include "machine.hpp"

namespace emu {

namespace {

enum Space : u32 { kBuffer, kGlobal, kScratch, kLdsSpace };
// Indices of Ins::p.
enum Parameter { kSpace, kBytes, kFlags, kOffset, kSecondOffset, kToLds, kAddressWide, kAtomic };
enum Flag : u32 {
    kStore = 1,
    kSigned = 2,
    kLowHalf = 4,
    kHighHalf = 8,
    kTwo = 16,
    kFlat = 32,
    kTransposed = 64,
    kPermute = 128
};
// Ins::s: address, data (of a store), scalar base or buffer resource, scalar offset.
enum Operand { kAddress, kData, kBase, kScalarOffset };

std::string text_of(u64 value) { return std::to_string(value); }

u64 first_address(const Wave& w, const Ins& i, int lane) {
    u64 address = i64(i32(i.p[kOffset]));
    if(i.s[kAddress] != kNone) {
        address += w.v[i.s[kAddress]][lane];
        if(i.p[kAddressWide])
            address += u64(w.v[i.s[kAddress] + 1][lane]) << 32;
    }
    return address;
}

void put(Wave& w, const Ins& i, u64 address, u32 bytes, const u8* data) {
    if(i.p[kAtomic])
        atomic_bytes(w, i, address, bytes, data, i.p[kAtomic]);
    else
        store_bytes(w, i, address, bytes, data);
}

// One lane's access to memory. Loads past a buffer's end give zero, stores are dropped; both per dword.
void buffer_lane(Wave& w, const Ins& i, int lane, u8* data, u8* known) {
    const u64 low = w.pair(i.s[kBase] - kScalar), high = w.pair(i.s[kBase] - kScalar + 2);
    if(high >> 32 & 0 || low >> 48 & 0x3fff)
        throw Fault{"uses a buffer with a stride, which is not emulated"};
    const u64 base = low & ((u64(1) << 48) - 1), records = u32(high);
    const u64 scalar = scalar32(w, i, kScalarOffset), offset = u32(first_address(w, i, lane));
    const u32 bytes = i.p[kBytes], step = std::min(bytes, 4u);
    for(u32 at = 0; at < bytes; at += step) {
        const bool inside = offset + at + step + scalar <= records;
        const u64 place = base + scalar + offset + at;
        if(inside && at == 0)
            group_of(w).note(lane, place);
        if(i.p[kFlags] & kStore) {
            if(inside)
                put(w, i, place, step, data + at);
        } else if(inside) {
            load_bytes(w, i, place, step, data + at, known + at);
        } else {
            std::memset(data + at, 0, step);
            std::memset(known + at, 1, step);
        }
    }
}

void scratch_lane(Wave& w, const Ins& i, int lane, u8* data, u8* known) {
    Group& group = group_of(w);
    const u64 size = group.launch->scratch_bytes;
    u64 address = u32(first_address(w, i, lane));
    if(i.s[kBase] != kNone)
        address += scalar32(w, i, kBase);
    address = u32(address);
    if(address + i.p[kBytes] > size)
        throw Fault{"touches byte " + text_of(address) + " of " + text_of(size) + " bytes of scratch"};
    u8* at = group.scratch[w.number].data() + lane * size + address;
    u8* at_known = at + kLanes * size;
    if(i.p[kFlags] & kStore) {
        std::memcpy(at, data, i.p[kBytes]);
        std::memset(at_known, 1, i.p[kBytes]);
    } else {
        std::memcpy(data, at, i.p[kBytes]);
        std::memcpy(known, at_known, i.p[kBytes]);
    }
}

void memory_lane(Wave& w, const Ins& i, int lane, u8* data, u8* known) {
    const u32 space = i.p[kSpace];
    if(space == kBuffer)
        return buffer_lane(w, i, lane, data, known);
    if(space == kScratch)
        return scratch_lane(w, i, lane, data, known);
    u64 address = first_address(w, i, lane);
    if(i.s[kBase] != kNone)
        address += scalar64(w, i, kBase);
    group_of(w).note(lane, address);
    if(i.p[kFlags] & kStore)
        put(w, i, address, i.p[kBytes], data);
    else
        load_bytes(w, i, address, i.p[kBytes], data, known);
}

// A load's bytes as the dwords that arrive in registers. Halves are merged when they arrive.
void widen(const Ins& i, const u8* data, u32* to) {
    const u32 bytes = i.p[kBytes], flags = i.p[kFlags];
    if(bytes >= 4) {
        std::memcpy(to, data, bytes);
        return;
    }
    u32 value = data[0] | (bytes == 2 ? u32(data[1]) << 8 : 0);
    if(flags & kSigned)
        value = u32(i32(value << (32 - 8 * bytes)) >> (32 - 8 * bytes));
    *to = value;
}

// The bytes that a lane stores, and which of them have a value.
void narrow(const Wave& w, const Ins& i, int at, int lane, u8* data, u8* known) {
    u32 words[4], unknown[4];
    const u32 bytes = i.p[kBytes], shift = i.p[kFlags] & kHighHalf ? 16 : 0;
    for(u32 k = 0; k * 4 < bytes; ++k) {
        const u32 row = i.s[at] + k;
        words[k] = w.v[row][lane] >> shift;
        unknown[k] = w.unknown[row] >> lane & 1 ? w.unknown_bits[row][lane] >> shift : 0;
    }
    std::memcpy(data, words, bytes);
    for(u32 k = 0; k < bytes; ++k)
        known[k] = (unknown[k / 4] >> 8 * (k % 4) & 0xff) == 0;
}

// The undefined bits of the dwords that arrive in registers.
void widen_unknown(const Ins& i, const u8* known, u32* to) {
    const u32 bytes = i.p[kBytes], flags = i.p[kFlags];
    for(u32 k = 0; k * 4 < bytes; ++k)
        to[k] = 0;
    for(u32 k = 0; k < bytes; ++k)
        to[k / 4] |= known[k] ? 0 : 0xffu << 8 * (k % 4);
    if(bytes < 4 && *to && flags & kSigned)
        *to = ~0u;
    if(flags & kHighHalf)
        *to <<= 16;
}

void mark_unknown(Wave& w, const Ins& i, u32 row, int lane, u32 bits) {
    if(bits == 0)
        return;
    const u64 bit = u64(1) << lane;
    w.unknown_bits[row][lane] = bits | (w.unknown[row] & bit ? w.unknown_bits[row][lane] : 0);
    w.unknown[row] |= bit;
    w.origin[row] = u32(&i - group_of(w).launch->code);
}

u32 registers(const Ins& i) { return (i.p[kBytes] + 3) / 4; }

void need_address(const Wave& w, const Ins& i) {
    const u64 lanes = w.exec();
    if(i.s[kAddress] != kNone)
        need_known(w, i.s[kAddress], i.p[kAddressWide] ? 2 : 1, lanes, "an address");
    if(i.p[kSpace] == kBuffer)
        need_known(w, i.s[kBase], 4, lanes, "a buffer resource");
    else if(i.s[kBase] != kNone && i.p[kSpace] != kLdsSpace)
        need_known(w, i.s[kBase], i.p[kSpace] == kGlobal ? 2 : 1, lanes, "an address");
    if(i.p[kFlags] & kStore && i.p[kSpace] != kLdsSpace)
        need_known(w, i.s[kData], registers(i), lanes, "stored data");
}

// The rows that a load writes are undefined, and hold junk, until it arrives.
void expect(Wave& w, const Ins& i, Queue queue, Pending&& load) {
    load.ins = u32(&i - group_of(w).launch->code);
    load.lanes = w.exec();
    const bool halves = i.p[kFlags] & (kLowHalf | kHighHalf);
    for(u32 k = 0; k < load.count; ++k) {
        u32* row = w.v[load.code + k];
        if(!halves)
            w.unknown[load.code + k] &= ~load.lanes;
        for(int lane = 0; lane < kLanes; ++lane)
            if(load.lanes >> lane & 1) {
                const u32 old = row[lane], value = load.data[k * kLanes + lane];
                if(halves) {
                    if(w.unknown[load.code] >> lane & 1) {
                        u32& bits = w.unknown_bits[load.code][lane];
                        bits &= i.p[kFlags] & kHighHalf ? 0xffffu : ~0xffffu;
                        w.unknown[load.code] &= ~(u64(bits == 0) << lane);
                    }
                    load.data[k * kLanes + lane] =
                        i.p[kFlags] & kHighHalf ? (old & 0xffff) | value << 16 : (old & ~0xffffu) | (value & 0xffff);
                }
                row[lane] = 0xbad0bad0u ^ u32(lane * 0x9e3779b9u);
            }
    }
    enqueue(w, queue, std::move(load));
}

void to_lds(Wave& w, const Ins& i) {  // at M0 + offset + lane * size: "CDNA3 ISA", 9.1.9
    const i32 op = begin_lds_op(w, i, true, true);
    const u32 bytes = std::max(i.p[kBytes], 4u), base = w.s[kM0] + i.p[kOffset];
    need_known(w, kScalar + kM0, 1, 1, "an LDS address");
    u8 all_known[16];
    std::memset(all_known, 1, sizeof all_known);
    for(int lane = 0; lane < w.size; ++lane)
        if(w.exec() >> lane & 1) {
            u8 data[16] = {}, known[16];
            u32 words[4];
            memory_lane(w, i, lane, data, known);
            widen(i, data, words);
            lds_store(w, i, op, base + lane * bytes, bytes, reinterpret_cast<u8*>(words), all_known);
        }
    Pending done;
    done.ins = u32(&i - group_of(w).launch->code);
    done.lds_op = op;
    enqueue(w, kLoads, std::move(done));
}

void vector_memory(Wave& w, const Ins& i) {
    if(i.p[kToLds])
        return to_lds(w, i);
    const bool store = i.p[kFlags] & kStore, flat = i.p[kFlags] & kFlat;
    Pending load;
    if(!store) {
        load.code = i.d0;
        load.count = u8(registers(i));
        load.data.resize(load.count * kLanes);
    }
    for(int lane = 0; lane < w.size; ++lane)
        if(w.exec() >> lane & 1) {
            u8 data[16] = {}, known[16];
            if(store)
                narrow(w, i, kData, lane, data, known);
            memory_lane(w, i, lane, data, known);
            if(store)
                continue;
            for(u32 at = 0; at < i.p[kBytes]; ++at)
                if(!known[at])
                    throw Fault{"reads memory that nobody wrote, in lane " + text_of(lane)};
            u32 words[4];
            widen(i, data, words);
            for(u32 k = 0; k < load.count; ++k)
                load.data[k * kLanes + lane] = words[k];
        }
    const Queue queue = store && group_of(w).launch->unordered_stores ? kStores : kLoads;
    if(flat) {  // counts as an access to LDS too
        load.twin = 1;
        Pending twin;
        twin.ins = u32(&i - group_of(w).launch->code);
        enqueue(w, kLds, std::move(twin));
    }
    if(store) {
        load.ins = u32(&i - group_of(w).launch->code);
        enqueue(w, queue, std::move(load));
    } else {
        expect(w, i, queue, std::move(load));
    }
}

// ds_read_b64_tr_b16: the data that 16 lanes read, in lane order, is a matrix of 4 x 16 halves; each lane gets a
// column. "AMD Instinct CDNA4 ISA", DS_READ_B64_TR_B16.
void transpose(std::vector<u32>& data) {
    std::vector<u16> halves(kLanes * 4), turned(kLanes * 4);
    for(int lane = 0; lane < kLanes; ++lane)
        for(int at = 0; at < 4; ++at)
            halves[lane * 4 + at] = u16(data[(at / 2) * kLanes + lane] >> 16 * (at % 2));
    for(int lane = 0; lane < kLanes; ++lane)
        for(int row = 0; row < 4; ++row)
            turned[lane * 4 + row] = halves[lane / 16 * 64 + row * 16 + lane % 16];
    for(int lane = 0; lane < kLanes; ++lane)
        for(int at = 0; at < 2; ++at)
            data[at * kLanes + lane] = turned[lane * 4 + 2 * at] | u32(turned[lane * 4 + 2 * at + 1]) << 16;
}

struct LdsLane {
    u32 value[4], unknown[4];
};

LdsLane load_lane(Wave& w, const Ins& i, i32 op, u32 address) {
    LdsLane lane{};
    u8 data[16] = {}, known[16];
    lds_load(w, i, op, address, i.p[kBytes], data, known);
    widen(i, data, lane.value);
    widen_unknown(i, known, lane.unknown);
    return lane;
}

void lds_store_all(Wave& w, const Ins& i, i32 op) {
    const u32 parts = i.p[kFlags] & kTwo ? 2 : 1;
    for(u32 part = 0; part < parts; ++part)
        for(int lane = 0; lane < w.size; ++lane)
            if(w.exec() >> lane & 1) {
                const u32 address = w.v[i.s[kAddress]][lane] + (part ? i.p[kSecondOffset] : i.p[kOffset]);
                u8 data[16] = {}, known[16];
                group_of(w).note(part * w.size + lane, address);
                narrow(w, i, part ? kBase : kData, lane, data, known);
                lds_store(w, i, op, address, i.p[kBytes], data, known);
            }
    Pending store;
    store.ins = u32(&i - group_of(w).launch->code);
    store.lds_op = op;
    enqueue(w, kLds, std::move(store));
}

void lds_load_all(Wave& w, const Ins& i, i32 op) {
    const u32 words = registers(i), parts = i.p[kFlags] & kTwo ? 2 : 1;
    if(i.p[kFlags] & kTransposed && w.exec() != ~u64(0))
        throw Fault{"is a transposing read with inactive lanes"};
    Pending load;
    load.code = i.d0;
    load.count = u8(words * parts);
    load.data.resize(load.count * kLanes);
    load.lds_op = op;
    std::vector<u32> unknown(load.count * kLanes);
    for(u32 part = 0; part < parts; ++part)
        for(int lane = 0; lane < w.size; ++lane)
            if(w.exec() >> lane & 1) {
                const u32 address = w.v[i.s[kAddress]][lane] + (part ? i.p[kSecondOffset] : i.p[kOffset]);
                group_of(w).note(part * w.size + lane, address);
                const LdsLane got = load_lane(w, i, op, address);
                for(u32 k = 0; k < words; ++k) {
                    load.data[(part * words + k) * kLanes + lane] = got.value[k];
                    unknown[(part * words + k) * kLanes + lane] = got.unknown[k];
                }
            }
    if(i.p[kFlags] & kTransposed)
        transpose(load.data), transpose(unknown);
    const u32 count = load.count;
    expect(w, i, kLds, std::move(load));
    for(u32 k = 0; k < count; ++k)
        for(int lane = 0; lane < w.size; ++lane)
            mark_unknown(w, i, i.d0 + k, lane, unknown[k * kLanes + lane]);
}

// ds_bpermute_b32: each lane gets the data of the lane that its address names, 0 if that lane is inactive.
void permute(Wave& w, const Ins& i) {
    Pending load;
    load.code = i.d0;
    load.count = 1;
    load.data.resize(kLanes);
    u32 bits[kLanes] = {};
    const u64 exec = w.exec();
    const u16 row = i.s[kData];
    for(int lane = 0; lane < w.size; ++lane) {
        const int from = int((w.v[i.s[kAddress]][lane] + i.p[kOffset]) / 4) & (w.size - 1);
        if(!(exec >> from & 1) || !(exec >> lane & 1))
            continue;
        load.data[lane] = w.v[row][from];
        bits[lane] = w.unknown[row] >> from & 1 ? w.unknown_bits[row][from] : 0;
    }
    expect(w, i, kLds, std::move(load));
    for(int lane = 0; lane < w.size; ++lane)
        mark_unknown(w, i, i.d0, lane, bits[lane]);
}

}  // namespace

void memory_access(Wave& w, const Ins& i) {
    Group& group = group_of(w);
    ++group.accesses;
    if(group.launch->trace && !(i.p[kFlags] & kPermute))
        group.launch->trace->open(w.size * (i.p[kFlags] & kTwo ? 2 : 1));
    need_address(w, i);
    if(i.p[kFlags] & kPermute)
        permute(w, i);
    else if(i.p[kSpace] == kLdsSpace && i.p[kFlags] & kStore)
        lds_store_all(w, i, begin_lds_op(w, i, true, false));
    else if(i.p[kSpace] == kLdsSpace)
        lds_load_all(w, i, begin_lds_op(w, i, false, false));
    else
        vector_memory(w, i);
}

// Scalar loads: p[kBytes] / 4 registers from s[kBase] + offset.
void scalar_load(Wave& w, const Ins& i) {
    ++group_of(w).accesses;
    need_known(w, i.s[kBase], 2, 1, "an address");
    u64 address = scalar64(w, i, kBase) + i64(i32(i.p[kOffset]));
    if(i.s[kScalarOffset] != kNone)
        address += scalar32(w, i, kScalarOffset);
    const u32 count = i.p[kBytes] / 4;
    Pending load;
    load.ins = u32(&i - group_of(w).launch->code);
    load.code = i.d0;
    load.count = u8(count);
    load.scalar = true;
    load.data.resize(count);
    std::vector<u8> known(i.p[kBytes]);
    load_bytes(w, i, address & ~u64(3), i.p[kBytes], reinterpret_cast<u8*>(load.data.data()), known.data());
    for(const u8 value : known)
        if(!value)
            throw Fault{"reads memory that nobody wrote"};
    mark_known(w, i.d0, count, 1);
    for(u32 k = 0; k < count; ++k)
        w.s[i.d0 - kScalar + k] = 0xbad0bad0u;
    enqueue(w, kScalarLoads, std::move(load));
}

}  // namespace emu
