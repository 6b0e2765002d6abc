// The host platform's engine: fibers, barriers, wave collectives, checked LDS and global memory.
// Fibers start with ucontext and switch with _setjmp/_longjmp, which does no system call.
#undef _FORTIFY_SOURCE  // its longjmp check takes a jump to another stack for an error

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "ckgen/platform/host_workgroup.hpp"
#include "ckgen/platform/process_mutex.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace ckgen::platform {
namespace {

// Tells AddressSanitizer which stack runs next; nothing in other builds.
struct StackSwitch {
#if defined(__SANITIZE_ADDRESS__)
    static void start(void** fake, const void* bottom, size_t size) {
        __sanitizer_start_switch_fiber(fake, bottom, size);
    }
    static void finish(void* fake, const void** bottom, size_t* size) {
        __sanitizer_finish_switch_fiber(fake, bottom, size);
    }
#else
    static void start(void**, const void*, size_t) {}
    static void finish(void*, const void**, size_t*) {}
#endif
};

// The workgroup whose fiber this OS thread runs.
thread_local Workgroup* running_group = nullptr;

}  // namespace

uint64 next_random(uint64& state) {  // xorshift64*, Vigna 2016
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ull;
}

Workgroup& Workgroup::running() { return *running_group; }

void Workgroup::prepare(KernelEntry entry, const void* args, const Grid& grid, const Regions& regions, uint64 seed) {
    entry_ = entry;
    args_ = args;
    grid_ = grid;
    threads_ = grid.threads * grid.cluster;
    regions_ = &regions;
    random_ = seed;
    add_fibers(threads_);
    order_.resize(static_cast<size_t>(threads_));
    at_collective_.resize(static_cast<size_t>(threads_ / Agents::kWarp));
    lds.prepare(threads_, grid.lds_bytes * grid.cluster);
    banks.prepare(threads_);
}

void Workgroup::run(uint32 number) {
    block_ = number * static_cast<uint32>(grid_.cluster);
    failure_.clear();
    lds.begin();
    copies.begin();
    matrix.begin(threads_);
    banks.meet();
    for(int i = 0; i < threads_; ++i) {
        // A fiber that a report left in the middle of a kernel starts again from the beginning.
        fibers_[i].started = fibers_[i].started && fibers_[i].state == State::done;
        fibers_[i].state = State::ready;
        fibers_[i].early = false;
        order_[i] = i;
    }
    std::fill(at_collective_.begin(), at_collective_.end(), 0);
    try {
        while(round()) {
        }
    } catch(const HostError& error) {  // of a copy, which is not part of a fiber
        failure_ = error.what();
    }
    if(!failure_.empty())
        throw HostError("workgroup " + std::to_string(block_) + ": " + failure_);
}

void Workgroup::named_barrier(int id, int number, int threads, Site site) {
    std::vector<int> here{id};
    for(int other = 0; other < threads_; ++other)
        if(fibers_[other].state == State::at_named && fibers_[other].detail == number)
            here.push_back(other);
    if(static_cast<int>(here.size()) < threads) {
        wait(id, State::at_named, site, number);
        return;
    }
    lds.track();
    lds.clocks.meet(here);
    for(const int other : here)
        fibers_[other].state = State::ready;
}

void Workgroup::collective(int id, void* payload, void (*execute)(void* const*), int lanes, Site site) {
    const int first = id / lanes * lanes;
    if(first + lanes > threads_)
        lds.fail("the workgroup ends before thread " + std::to_string(first + lanes) + ", at " + text(site));
    fibers_[id].payload = payload;
    fibers_[id].execute = execute;
    const auto warps = at_collective_.begin() + first / Agents::kWarp;
    if(std::accumulate(warps, warps + lanes / Agents::kWarp, 1) < lanes) {
        ++at_collective_[static_cast<size_t>(id / Agents::kWarp)];
        wait(id, State::at_collective, site, 0);
        return;
    }
    std::fill(warps, warps + lanes / Agents::kWarp, 0);
    void* payloads[Agents::kWarpgroup];
    for(int lane = first; lane < first + lanes; ++lane) {
        if(fibers_[lane].execute != execute)
            lds.fail("lanes that should act together are at different instructions: " + lds.clocks.agents().name(id) +
                     " at " + text(site) + ", " + lds.clocks.agents().name(lane) + " at " + text(fibers_[lane].site));
        payloads[lane - first] = fibers_[lane].payload;
    }
    execute(payloads);
    for(int lane = first; lane < first + lanes; ++lane)
        fibers_[lane].state = State::ready;
}

void Workgroup::wake(int mbarrier) {
    for(int id = 0; id < threads_; ++id)
        if(fibers_[id].state == State::at_mbarrier && fibers_[id].detail == mbarrier)
            fibers_[id].state = State::ready;
}

void Workgroup::check_early(int id, Site site) const {
    if(fibers_[static_cast<size_t>(id)].early)
        lds.fail("global memory is accessed before pdl_wait(), while the previous kernel may still run, " +
                 lds.clocks.agents().name(id) + " at " + text(site));
}

void Workgroup::out_of_bounds(const std::string& who, const char* address, int bytes, bool write, Site site) const {
    std::string nearest;
    for(const Region& region : *regions_)
        nearest += std::string(nearest.empty() ? "" : ", ") + region.name + " " +
                   std::to_string(address - region.begin) + " of " + std::to_string(region.bytes);
    lds.fail(std::string("global ") + (write ? "write" : "read") + " of " + std::to_string(bytes) +
             " bytes out of bounds (byte offset from each tensor: " + nearest + "), " + who + " at " + text(site));
}

void Workgroup::add_fibers(int threads) {
    const size_t have = fibers_.size();
    if(have >= static_cast<size_t>(threads))
        return;
    char* stack = stacks_.add(static_cast<size_t>(threads) - have);
    fibers_.resize(static_cast<size_t>(threads));
    for(size_t i = have; i < fibers_.size(); ++i, stack += FiberStacks::kBytes)
        fibers_[i].stack = stack;
}

// Runs every ready fiber once. If none is ready, executes a copy or opens the barrier at which all wait. False when the
// workgroup is finished.
bool Workgroup::round() {
    if(random_ != 0) {
        for(size_t i = order_.size() - 1; i > 0; --i)
            std::swap(order_[i], order_[next_random(random_) % (i + 1)]);
        copies.do_some(random_);
    }
    if(run_ready())
        return failure_.empty();
    return copies.do_one() || open_barrier();
}

bool Workgroup::run_ready() {
    bool progress = false;
    for(const int id : order_) {
        if(fibers_[id].state != State::ready)
            continue;
        progress = true;
        resume(id);
        if(!failure_.empty())
            break;
    }
    return progress;
}

bool Workgroup::open_barrier() {
    int waiting = 0;
    int finished = 0;
    bool elsewhere = false;
    for(int id = 0; id < threads_; ++id) {
        waiting += fibers_[id].state == State::at_barrier;
        finished += fibers_[id].state == State::done;
        elsewhere = elsewhere || fibers_[id].state == State::at_mbarrier || fibers_[id].state == State::at_named;
    }
    if(finished == threads_) {
        failure_ = copies.unfinished() + matrix.unfinished();
        return false;
    }
    if(waiting != threads_ || wave_diverged()) {
        failure_ = (elsewhere ? "nothing moves any more: " : "barrier mismatch: ") + describe_waits();
        return false;
    }
    lds.pass_barrier();
    copies.meet();
    banks.meet();
    for(int id = 0; id < threads_; ++id)
        fibers_[id].state = State::ready;
    return true;
}

// The lanes of one wave share a program counter, so they must wait at the same line.
bool Workgroup::wave_diverged() const {
    for(int id = 0; id < threads_; ++id)
        if(fibers_[id].site.line != fibers_[id / kWaveSize * kWaveSize].site.line)
            return true;
    return false;
}

std::string Workgroup::describe(int id) const {
    const Fiber& fiber = fibers_[id];
    switch(fiber.state) {
    case State::done:
        return "finished";
    case State::at_barrier:
        return "waits at barrier " + text(fiber.site);
    case State::at_named:
        return "waits at barrier number " + std::to_string(fiber.detail) + " " + text(fiber.site);
    case State::at_collective:
        return "waits for its lanes at " + text(fiber.site);
    case State::at_mbarrier:
        return "waits " + copies.describe(fiber.detail) + ", at " + text(fiber.site);
    default:
        return "runs";
    }
}

std::string Workgroup::describe_waits() const {
    std::string out;
    for(int first = 0; first < threads_;) {
        int last = first;
        while(last + 1 < threads_ && describe(last + 1) == describe(first))
            ++last;
        out += (out.empty() ? "" : "; ") + ("threads " + std::to_string(first) + "-" + std::to_string(last)) +
               " (waves " + std::to_string(first / kWaveSize) + "-" + std::to_string(last / kWaveSize) + ") " +
               describe(first);
        first = last + 1;
    }
    return out;
}

void Workgroup::resume(int id) {
    Fiber& fiber = fibers_[id];
    current_ = id;
    running_group = this;
    void* fake = nullptr;
    StackSwitch::start(&fake, fiber.stack, FiberStacks::kBytes);
    if(_setjmp(scheduler_) == 0) {
        if(fiber.started)
            _longjmp(fiber.jump, 1);
        fiber.started = true;
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber.stack;
        context.uc_stack.ss_size = FiberStacks::kBytes;
        context.uc_link = nullptr;
        const auto self = reinterpret_cast<uintptr_t>(this);
        makecontext(&context, reinterpret_cast<void (*)()>(&Workgroup::trampoline), 2,
                    static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
        setcontext(&context);
    }
    StackSwitch::finish(fake, nullptr, nullptr);
}

void Workgroup::trampoline(unsigned high, unsigned low) {
    reinterpret_cast<Workgroup*>((static_cast<uintptr_t>(high) << 32) | low)->fiber_main();
}

void Workgroup::fiber_main() {
    StackSwitch::finish(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
    const int id = current_;
    for(;;) {  // a finished fiber waits for the next workgroup: a new fiber costs system calls
        try {
            Thread thread(*this, id, id / grid_.threads * grid_.threads);
            entry_(args_, thread);
        } catch(const std::exception& error) {
            failure_ = error.what();
        }
        wait(id, State::done, Site{}, 0);
    }
}

void Workgroup::wait(int id, State state, Site site, int detail) {
    Fiber& fiber = fibers_[id];
    fiber.state = state;
    fiber.site = site;
    fiber.detail = detail;
    StackSwitch::start(&fiber.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
    if(_setjmp(fiber.jump) == 0)
        _longjmp(scheduler_, 1);
    StackSwitch::finish(fibers_[id].fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
}

HostOptions& host_options() {
    static HostOptions options;
    return options;
}

namespace {

// Workgroup engines keep their fibers' stacks from one launch to the next, except where guard pages would use up the
// mappings of a process that loads many libraries.
class EnginePool {
public:
    std::unique_ptr<Workgroup> take() {
        const std::lock_guard<std::mutex> lock(process_mutex());
        if(idle_.empty())
            return std::make_unique<Workgroup>();
        std::unique_ptr<Workgroup> engine = std::move(idle_.back());
        idle_.pop_back();
        return engine;
    }
    void give(std::unique_ptr<Workgroup> engine) {
        if(!engine->keeps_few_mappings())
            return;
        const std::lock_guard<std::mutex> lock(process_mutex());
        idle_.push_back(std::move(engine));
    }

private:
    std::vector<std::unique_ptr<Workgroup>> idle_;
};

EnginePool& engines() {
    static EnginePool pool;
    return pool;
}

}  // namespace

void run_grid(KernelEntry entry, const void* args, const Grid& grid, const Regions& regions) {
    const uint32 clusters = clusters_of(grid);
    const HostOptions options = host_options();
    const uint32 cores =
        std::max(1u, options.threads > 0 ? static_cast<uint32>(options.threads) : std::thread::hardware_concurrency());
    std::atomic<uint32> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](uint32 worker) {
        std::unique_ptr<Workgroup> engine;
        try {
            engine = engines().take();
            engine->prepare(entry, args, grid, regions, options.seed * 2654435761u * (worker + 1));
            for(uint32 number = next++; number < clusters; number = next++)
                engine->run(number);
            engine->banks.finish();
        } catch(...) {
            next = clusters;
            const std::lock_guard<std::mutex> lock(mutex);
            if(!error)
                error = std::current_exception();
        }
        if(engine)
            engines().give(std::move(engine));
    };
    std::vector<std::thread> helpers;
    try {
        for(uint32 worker = 1; worker < std::min(cores, clusters); ++worker)
            helpers.emplace_back(work, worker);
    } catch(const std::system_error&) {  // the limit of threads is reached: those that there are do the work
    }
    work(0);
    for(std::thread& helper : helpers)
        helper.join();
    if(error)
        std::rethrow_exception(error);
}

int compute_units() { return 4; }  // small, so that split_k = -1 stays small where every workgroup is emulated

float elapsed_milliseconds(void (*call)(void*), void* context, int repeats) {
    const auto begin = std::chrono::steady_clock::now();
    for(int i = 0; i < repeats; ++i)
        call(context);
    const std::chrono::duration<float, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    return elapsed.count() / static_cast<float>(repeats);
}

}  // namespace ckgen::platform
