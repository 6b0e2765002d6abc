// Execution: the undefined bits of results, waits and barriers, the schedule of waves, and a launch.
#include <memory>

#include "machine.hpp"

namespace emu {

namespace {

constexpr int kTrials = 4;

// A copy of the registers that an instruction touches.
struct Saved {
    std::vector<u32> rows;
    std::vector<u32> scalars;

    Saved(const Wave& w, const Ins& i, bool written_only) {
        for(u32 at = 0; at < i.ranges; ++at) {
            const Range& range = i.range[at];
            if(written_only && !range.write)
                continue;
            for(u32 k = 0; k < range.count; ++k)
                if(range.code < kRows)
                    rows.insert(rows.end(), w.v[range.code + k], w.v[range.code + k] + kLanes);
                else
                    scalars.push_back(w.s[range.code - kScalar + k]);
        }
    }
    void restore(Wave& w, const Ins& i) const {
        const u32* row = rows.data();
        const u32* scalar = scalars.data();
        for(u32 at = 0; at < i.ranges; ++at)
            for(u32 k = 0; k < i.range[at].count; ++k)
                if(i.range[at].code < kRows) {
                    std::memcpy(w.v[i.range[at].code + k], row, sizeof w.v[0]);
                    row += kLanes;
                } else {
                    w.s[i.range[at].code - kScalar + k] = *scalar++;
                }
    }
};

bool reads_unknown(const Wave& w, const Ins& i, u64 exec) {
    for(u32 at = 0; at < i.ranges; ++at) {
        const Range& range = i.range[at];
        if(range.write == 1)
            continue;
        for(u32 k = 0; k < range.count; ++k)
            if(range.code < kRows ? (w.unknown[range.code + k] & exec) != 0
                                  : w.unknown_scalar[range.code - kScalar + k] != 0)
                return true;
    }
    return false;
}

// Give the undefined bits that it reads other values: zeros, ones, then random ones.
void vary(Wave& w, const Ins& i, int trial, std::mt19937_64& random) {
    const auto changed = [&](u32 value, u32 bits) {
        const u32 other = trial == 0 ? 0 : trial == 1 ? ~0u : u32(random());
        return (value & ~bits) | (other & bits);
    };
    for(u32 at = 0; at < i.ranges; ++at)
        for(u32 k = 0; k < i.range[at].count; ++k) {
            const u32 code = i.range[at].code + k;
            if(code >= kRows) {
                w.s[code - kScalar] = changed(w.s[code - kScalar], w.unknown_scalar[code - kScalar]);
                continue;
            }
            for(int lane = 0; lane < kLanes; ++lane)
                if(w.unknown[code] >> lane & 1)
                    w.v[code][lane] = changed(w.v[code][lane], w.unknown_bits[code][lane]);
        }
}

i64 told(u32 origin) { return origin == kNoOrigin ? -1 : i64(origin); }

// The instruction that made the undefined bits that this one reads.
u32 origin_of(const Wave& w, const Ins& i) {
    for(u32 at = 0; at < i.ranges; ++at)
        for(u32 k = 0; i.range[at].write != 1 && k < i.range[at].count; ++k) {
            const u32 code = i.range[at].code + k;
            if(code < kRows ? w.unknown[code] != 0 : w.unknown_scalar[code - kScalar] != 0)
                return code < kRows ? w.origin[code] : w.origin_scalar[code - kScalar];
        }
    return kNoOrigin;
}

void set_unknown(Wave& w, const Ins& i, const std::vector<u32>& rows, const std::vector<u32>& scalars) {
    const u32 origin = origin_of(w, i);
    const u32* row = rows.data();
    const u32* scalar = scalars.data();
    for(u32 at = 0; at < i.ranges; ++at) {
        const Range& range = i.range[at];
        for(u32 k = 0; range.write && k < range.count; ++k) {
            if(range.code >= kRows) {
                const u32 bits = w.unknown_scalar[range.code - kScalar + k] = *scalar++;
                w.origin_scalar[range.code - kScalar + k] = origin;
                if(bits && range.code - kScalar + k - kExec < 2u)
                    throw Fault{"decides with a register that has no value which lanes are active", told(origin),
                                w.number};
                continue;
            }
            u64 lanes = 0;
            for(int lane = 0; lane < kLanes; ++lane) {
                w.unknown_bits[range.code + k][lane] = row[lane];
                lanes |= u64(row[lane] != 0) << lane;
            }
            w.unknown[range.code + k] = lanes;
            w.origin[range.code + k] = origin;
            row += kLanes;
        }
    }
}

// An instruction that reads undefined bits: a bit of the result is undefined if it depends on them.
void run_undefined(Wave& w, const Ins& i) {
    Group& group = group_of(w);
    const Saved before(w, i, false);
    std::vector<u32> rows, scalars;
    std::unique_ptr<Saved> first;
    for(int trial = 0; trial < kTrials; ++trial) {
        vary(w, i, trial, group.random);
        i.run(w, i);
        Saved after(w, i, true);
        if(!first) {
            first = std::make_unique<Saved>(std::move(after));
            rows.resize(first->rows.size());
            scalars.resize(first->scalars.size());
        } else {
            for(std::size_t at = 0; at < rows.size(); ++at)
                rows[at] |= first->rows[at] ^ after.rows[at];
            for(std::size_t at = 0; at < scalars.size(); ++at)
                scalars[at] |= first->scalars[at] ^ after.scalars[at];
        }
        before.restore(w, i);
        w.exec_changed();
    }
    // Only active lanes change; in others a written row keeps what it had.
    i.run(w, i);
    set_unknown(w, i, rows, scalars);
}

void need_arrived(const Wave& w, const Ins& i) {
    if(i.kind == kWait)
        return;
    for(u32 at = 0; at < i.ranges; ++at) {
        const Range& range = i.range[at];
        for(u32 k = 0; k < range.count; ++k) {
            const u32 code = range.code + k;
            if(!(code < kRows ? w.waiting[code] : w.waiting_scalar[code - kScalar]))
                continue;
            if(range.write == 1 && i.kind == kMemory)
                continue;  // loads arrive in order
            const u32 number = code < kRows ? code % 256 : code - kScalar;
            for(const auto& queue : w.queue)
                for(const Pending& load : queue)
                    if(code - load.code < load.count)
                        throw Fault{std::string("misses a wait: it ") + (range.write == 1 ? "writes" : "reads") +
                                        " register " +
                                        (code >= kRows ? "s"
                                         : code < 256  ? "v"
                                                       : "a") +
                                        std::to_string(number) + " before its load has arrived",
                                    load.ins, w.number};
        }
    }
}

// p[0]: 1 if it writes EXEC, 2 if it reads or writes lanes that are not active.
void run_alu(Wave& w, const Ins& i) {
    const u64 exec = i.p[0] & 2 ? ~u64(0) : w.exec();
    if(reads_unknown(w, i, exec)) {
        if(i.kind == kBranch)
            throw Fault{"decides with a register that has no value", told(origin_of(w, i)), w.number};
        run_undefined(w, i);
    } else {
        i.run(w, i);
        for(u32 at = 0; at < i.ranges; ++at)
            if(i.range[at].write)
                mark_known(w, i.range[at].code, i.range[at].count, exec);
    }
    if(i.p[0] & 1)
        w.exec_changed();
}

void wait(Wave& w, const Ins& i) {  // p: 1 + what may be left in each queue, 0 for any number
    for(int queue = 0; queue < kQueues; ++queue)
        if(i.p[queue])
            wait_for(w, Queue(queue), i.p[queue] - 1);
}

// Run one instruction; true if the wave must stop after it.
bool run_one(Wave& w, const Ins& i) {
    if(w.pending)
        need_arrived(w, i);
    switch(i.kind) {
    case kAlu:
    case kBranch:
        run_alu(w, i);
        return false;
    case kMemory:
        i.run(w, i);
        return false;
    case kWait:
        wait(w, i);
        return false;
    case kBarrier:
        ++w.signals;
        return true;
    case kSignal:
        ++w.signals;
        return false;
    case kBarrierWait:
        return true;
    case kEnd:
        return true;
    default:
        return false;
    }
}

enum class State { kRunning, kAtBarrier, kEnded };

struct Runner {
    Group& group;
    const Launch& launch;
    Report& report;
    std::vector<u8>& used;
    std::vector<State> state;
    std::vector<int> ready;

    // All waves that run have signalled as often as this one waits for.
    bool opens(const Wave& w) const {
        for(std::size_t other = 0; other < group.waves.size(); ++other)
            if(state[other] != State::kEnded && group.waves[other]->signals < w.waits + 1)
                return false;
        return true;
    }

    void turn(int number, u64 steps) {
        Wave& w = *group.waves[number];
        for(u64 step = 0; step < steps && state[number] == State::kRunning; ++step) {
            if(w.index >= launch.count)
                throw Fault{"runs past the end of the code"};
            const Ins& i = launch.code[w.index];
            report.ins = w.index;
            used[w.index] = 1;
            if(++report.steps > launch.max_steps)
                throw Fault{"is reached too often: the kernel does not end"};
            if(launch.trace)
                launch.trace->add(w.index, group.block, number);
            w.jumped = false;
            const bool stops = run_one(w, i);
            if(!w.jumped)
                ++w.index;
            if(stops)
                state[number] = i.kind == kEnd ? State::kEnded : State::kAtBarrier;
        }
    }

    void run() {
        state.assign(group.waves.size(), State::kRunning);
        for(;;) {
            ready.clear();
            bool ended = true;
            for(std::size_t at = 0; at < state.size(); ++at) {
                ended = ended && state[at] == State::kEnded;
                if(state[at] == State::kAtBarrier && opens(*group.waves[at])) {
                    ++group.waves[at]->waits;
                    state[at] = State::kRunning;
                }
            }
            for(std::size_t at = 0; at < state.size(); ++at)
                if(state[at] == State::kRunning)
                    ready.push_back(int(at));
            if(ended)
                return;
            if(ready.empty())
                throw Fault{"is a barrier that not all waves reach"};
            const int number = ready[launch.late ? group.random() % ready.size() : 0];
            report.wave = number;
            turn(number, launch.late ? 8 + group.random() % 400 : ~u64(0));
        }
    }
};

std::unique_ptr<Wave> make_wave(const Launch& launch, Group& group, u32 number) {
    auto wave = std::make_unique<Wave>();
    Wave& w = *wave;
    std::mt19937 junk(u32(launch.seed * 977 + group.block * 31 + number));
    for(auto& row : w.v)
        for(u32& value : row)
            value = u32(junk());
    std::memset(w.unknown, 0xff, sizeof w.unknown);
    std::memset(w.unknown_bits, 0xff, sizeof w.unknown_bits);
    std::memset(w.unknown_scalar, 0xff, sizeof w.unknown_scalar);
    std::memset(w.origin, 0xff, sizeof w.origin);
    std::memset(w.origin_scalar, 0xff, sizeof w.origin_scalar);
    std::memset(w.waiting, 0, sizeof w.waiting);
    std::memset(w.waiting_scalar, 0, sizeof w.waiting_scalar);
    for(u32& value : w.s)
        value = u32(junk());
    w.number = int(number), w.size = int(launch.wave_size), w.group = &group;
    w.index = w.waits = w.signals = 0;
    w.pending = 0;
    w.s[kNull] = 0;
    const u32 first = number * launch.wave_size, lanes = std::min(launch.wave_size, launch.threads - first);
    w.set_pair(kExec, lanes == 64 ? ~u64(0) : (u64(1) << lanes) - 1);
    w.exec_changed();
    for(u32 lane = 0; lane < launch.wave_size; ++lane)
        w.v[0][lane] = first + lane;
    w.unknown[0] = 0;
    const auto known = [&](int at, u32 value) { w.s[at] = value, w.unknown_scalar[at] = 0; };
    known(int(launch.kernarg_register), u32(launch.kernarg));
    known(int(launch.kernarg_register) + 1, u32(launch.kernarg >> 32));
    known(int(launch.block_register), group.block % launch.extent_x);
    if(launch.y_register < kScalars)
        known(int(launch.y_register), group.block / launch.extent_x % launch.extent_y);
    if(launch.z_register < kScalars)
        known(int(launch.z_register), group.block / launch.extent_x / launch.extent_y);
    w.unknown_scalar[kExec] = w.unknown_scalar[kExec + 1] = w.unknown_scalar[kNull] = 0;
    return wave;
}

void run_block(const Launch& launch, Report& report, std::vector<u8>& used, u32 block) {
    Group group{};
    group.launch = &launch, group.block = block;
    group.random.seed(launch.seed * 1000003 + block);
    group.lds.resize(launch.lds_bytes);
    for(LdsByte& at : group.lds)
        at.value = u8(group.random()), at.known = 0;
    const u32 count = (launch.threads + launch.wave_size - 1) / launch.wave_size;
    std::vector<std::unique_ptr<Wave>> waves;
    for(u32 number = 0; number < count; ++number) {
        waves.push_back(make_wave(launch, group, number));
        group.waves.push_back(waves.back().get());
        group.scratch.emplace_back(std::size_t(launch.scratch_bytes) * 2 * kLanes);
    }
    const auto begin = report.steps;
    static_cast<void>(begin);
    Runner{group, launch, report, used, {}, {}}.run();
    report.accesses += group.accesses;
}

}  // namespace

}  // namespace emu

// Run all workgroups one after another; 0, or 1 with a fault in `report`.
extern "C" int emulate(const emu::Launch* launch, emu::Report* report) {
    std::vector<emu::u8> used(launch->count);
    *report = {};
    report->other = report->other_wave = -1;
    for(emu::u32 block = 0; block < launch->blocks; ++block) {
        report->block = block;
        try {
            emu::run_block(*launch, *report, used, block);
        } catch(const emu::Fault& fault) {
            report->other = fault.other, report->other_wave = fault.other_wave;
            fault.what.copy(report->what, sizeof report->what - 1);
            return 1;
        }
    }
    for(const emu::u8 at : used)
        report->used += at;
    return 0;
}

extern "C" emu::Handler handler_of(int which) {
    const emu::Handler known[] = {emu::memory_access, emu::scalar_load, emu::matrix_multiply};
    return known[which];
}
extern "C" emu::Trace* trace_new() { return new emu::Trace; }
extern "C" void trace_free(emu::Trace* trace) { delete trace; }
extern "C" emu::u64 trace_size(const emu::Trace* trace, int addresses) {
    return addresses ? trace->addresses.size() : trace->events.size();
}
extern "C" const void* trace_data(const emu::Trace* trace, int addresses) {
    return addresses ? static_cast<const void*>(trace->addresses.data()) : trace->events.data();
}
extern "C" emu::u64 size_of_ins() { return sizeof(emu::Ins); }
