// Regions of memory, LDS with its races, pending operations, and undefined registers.
#include "machine.hpp"
#include "numbers.hpp"

namespace emu {

namespace {

u64 identity(Wave& w) { return u64(group_of(w).block + 1) << 32 | u64(w.number) << 24 | (w.waits & 0xffffff); }

// A byte that another workgroup, or another wave since the last barrier, wrote in this launch.
void need_own(Wave& w, const Region& region, u64 at, const char* does) {
    const u64 marked = region.writer[at], writer = marked & ~kAtomicMark, me = identity(w);
    if(writer == 0 || writer == me)
        return;
    if(marked == kAtomics)
        throw Fault{"races: it " + std::string(does) + " a byte that atomic operations wrote in the same launch"};
    const bool same_group = writer >> 32 == me >> 32;
    if(same_group && ((writer >> 24 & 0xff) == (me >> 24 & 0xff) || (writer & 0xffffff) != (me & 0xffffff)))
        return;
    throw Fault{"races: it " + std::string(does) + " a byte that " +
                    (same_group ? "another wave" : "workgroup " + std::to_string((writer >> 32) - 1)) +
                    " wrote in the same launch",
                -1, same_group ? i64(writer >> 24 & 0xff) : -1};
}

void need_ordered(Wave& w, i32 number, const char* does) {
    if(number < 0)
        return;
    const LdsOp& op = group_of(w).ops[number];
    const char* did = op.write ? "wrote" : "read";
    if(op.wave == w.number) {
        if(op.to_lds && op.done == kNotDone)
            throw Fault{std::string("misses a wait: it ") + does + " LDS that a load to LDS has not reached", op.ins,
                        op.wave};
        return;
    }
    if(op.done != kNotDone && w.waits > op.done)
        return;
    const bool passed = op.done == kNotDone && w.waits > 0;
    throw Fault{
        std::string("races: it ") + does + " LDS that another wave " + did +
            (passed ? ", with no barrier after a completed wait between them" : " with no barrier between them"),
        op.ins, op.wave};
}

LdsByte& lds_byte(Wave& w, u32 address, u32 bytes) {
    auto& lds = group_of(w).lds;
    if(u64(address) + bytes > lds.size())
        throw Fault{"touches bytes " + std::to_string(address) + ".." + std::to_string(u64(address) + bytes - 1) +
                    " of " + std::to_string(lds.size()) + " bytes of LDS"};
    return lds[address];
}

}  // namespace

Region& region_of(const Launch& launch, u64 address, u32 bytes, bool write) {
    for(u32 at = 0; at < launch.region_count; ++at) {
        Region& region = launch.regions[at];
        if(address >= region.start && address + bytes <= region.start + region.size) {
            if(write && region.writer == nullptr)
                throw Fault{"writes to region " + std::to_string(at) + ", which is input"};
            return region;
        }
    }
    u32 nearest = 0;
    u64 best = ~u64(0);
    for(u32 at = 0; at < launch.region_count; ++at) {
        const Region& region = launch.regions[at];
        const u64 distance = address < region.start ? region.start - address : address - region.start;
        if(distance < best)
            best = distance, nearest = at;
    }
    const Region& region = launch.regions[nearest];
    const i64 offset = i64(address - region.start);
    throw Fault{std::string(write ? "writes" : "reads") + " bytes " + std::to_string(offset) + ".." +
                std::to_string(offset + bytes - 1) + " of region " + std::to_string(nearest) + ", which has " +
                std::to_string(region.size)};
}

void load_bytes(Wave& w, const Ins&, u64 address, u32 bytes, u8* to, u8* known) {
    const Region& region = region_of(*group_of(w).launch, address, bytes, false);
    const u64 at = address - region.start;
    std::memcpy(to, region.data + at, bytes);
    if(region.known != nullptr)
        std::memcpy(known, region.known + at, bytes);
    else
        std::memset(known, 1, bytes);
    if(region.writer != nullptr)
        for(u32 k = 0; k < bytes; ++k)
            need_own(w, region, at + k, "reads");
}

void store_bytes(Wave& w, const Ins&, u64 address, u32 bytes, const u8* from) {
    Region& region = region_of(*group_of(w).launch, address, bytes, true);
    const u64 at = address - region.start;
    for(u32 k = 0; k < bytes; ++k) {
        need_own(w, region, at + k, "writes");
        region.writer[at + k] = identity(w);
        region.known[at + k] = 1;
    }
    std::memcpy(region.data + at, from, bytes);
}

// Atomic operations of different waves may meet in any order; another access to what they wrote is a race.
void atomic_bytes(Wave& w, const Ins&, u64 address, u32 bytes, const u8* from, u32 what) {
    Region& region = region_of(*group_of(w).launch, address, bytes, true);
    const u64 at = address - region.start, me = identity(w) | kAtomicMark;
    for(u32 k = 0; k < bytes; ++k) {
        u64& writer = region.writer[at + k];
        const bool other = writer & kAtomicMark && (writer ^ me) >> 24 != 0;
        if(!(writer & kAtomicMark))
            need_own(w, region, at + k, "adds to");
        if(!region.known[at + k])
            throw Fault{"adds to memory that nobody wrote"};
        writer = other ? kAtomics : me;
    }
    u8* const to = region.data + at;
    if(what == kAddF32) {
        f32 sum, more;
        std::memcpy(&sum, to, 4);
        std::memcpy(&more, from, 4);
        sum += more;
        std::memcpy(to, &sum, 4);
        return;
    }
    f16 sums[2], more[2];
    std::memcpy(sums, to, 4);
    std::memcpy(more, from, 4);
    for(int half = 0; half < 2; ++half)
        sums[half] = sums[half] + more[half];
    std::memcpy(to, sums, 4);
}

i32 begin_lds_op(Wave& w, const Ins& i, bool write, bool to_lds) {
    Group& group = group_of(w);
    group.ops.push_back({u32(&i - group.launch->code), i16(w.number), write, to_lds, kNotDone});
    return i32(group.ops.size() - 1);
}

void lds_load(Wave& w, const Ins&, i32 op, u32 address, u32 bytes, u8* to, u8* known) {
    LdsByte* at = &lds_byte(w, address, bytes);
    for(u32 k = 0; k < bytes; ++k) {
        need_ordered(w, at[k].writer, "reads");
        known[k] = at[k].known;
        to[k] = at[k].value;
        if(at[k].reader >= 0 && group_of(w).ops[at[k].reader].wave != w.number)
            at[k].other_reader = at[k].reader;
        at[k].reader = op;
    }
}

void lds_store(Wave& w, const Ins&, i32 op, u32 address, u32 bytes, const u8* from, const u8* known) {
    LdsByte* at = &lds_byte(w, address, bytes);
    for(u32 k = 0; k < bytes; ++k) {
        need_ordered(w, at[k].writer, "writes");
        need_ordered(w, at[k].reader, "writes");
        need_ordered(w, at[k].other_reader, "writes");
        at[k] = {from[k], known[k], op, -1, -1};
    }
}

void enqueue(Wave& w, Queue queue, Pending&& pending) {
    for(u32 k = 0; k < pending.count; ++k)
        ++(pending.scalar ? w.waiting_scalar[pending.code - kScalar + k] : w.waiting[pending.code + k]);
    w.pending += pending.count != 0;
    w.queue[queue].push_back(std::move(pending));
}

namespace {

void complete(Wave& w, Pending& done) {
    if(done.lds_op >= 0)
        group_of(w).ops[done.lds_op].done = w.signals;
    if(done.count == 0)
        return;
    for(u32 k = 0; k < done.count; ++k) {
        if(done.scalar) {
            w.s[done.code - kScalar + k] = done.data[k];
            --w.waiting_scalar[done.code - kScalar + k];
            continue;
        }
        u32* row = w.v[done.code + k];
        for(int lane = 0; lane < kLanes; ++lane)
            if(done.lanes >> lane & 1)
                row[lane] = done.data[k * kLanes + lane];
        --w.waiting[done.code + k];
    }
    if(done.scalar && done.code - kScalar <= kExec + 1 && done.code - kScalar + done.count > kExec)
        w.exec_changed();
    --w.pending;
}

}  // namespace

void wait_for(Wave& w, Queue queue, u32 left) {
    auto& pending = w.queue[queue];
    while(pending.size() > left) {
        complete(w, pending.front());
        pending.pop_front();
    }
}

void mark_known(Wave& w, u16 code, u32 count, u64 lanes) {
    for(u32 k = 0; k < count; ++k)
        if(code < kRows)
            w.unknown[code + k] &= ~lanes;
        else if(code < kConstant)
            w.unknown_scalar[code - kScalar + k] = 0;
}

void need_known(const Wave& w, u16 code, u32 count, u64 lanes, const char* use) {
    for(u32 k = 0; k < count; ++k) {
        const bool vector = code < kRows;
        if(vector ? (w.unknown[code + k] & lanes) != 0
                  : code < kConstant && w.unknown_scalar[code - kScalar + k] != 0) {
            const u32 number = vector ? (code + k) % 256 : code - kScalar + k;
            const char* file = !vector ? "s" : code + k < 256 ? "v" : "a";
            const u32 origin = vector ? w.origin[code + k] : w.origin_scalar[code - kScalar + k];
            throw Fault{std::string("uses register ") + file + std::to_string(number) + ", which has no value, as " +
                            use,
                        origin == kNoOrigin ? -1 : i64(origin), w.number};
        }
    }
}

}  // namespace emu
