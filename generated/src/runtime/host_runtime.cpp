// Copied by ckgen from templates/src/host_runtime.cpp. Do not edit; run: ckgen generate
// The host platform's engine: fibers, barriers, wave collectives, checked LDS and global memory.
// Fibers start with ucontext and switch with _setjmp/_longjmp, which does no system call.
#undef _FORTIFY_SOURCE  // its longjmp check takes a jump to another stack for an error

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "ckgen/platform/platform.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace ckgen::platform {
namespace {

constexpr size_t kStackBytes = 256 * 1024;

std::string text(Site site) {
    std::string file = site.file ? site.file : "?";
    const size_t at = file.rfind("ckgen/");
    return (at == std::string::npos ? file : file.substr(at)) + ":" + std::to_string(site.line);
}

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

enum class State { ready, at_barrier, at_collective, done };

struct Fiber {
    char* stack = nullptr;
    jmp_buf jump;
    void* fake_stack = nullptr;
    State state = State::done;
    bool started = false;
    Site site;
    void* payload = nullptr;
};

// What was last done to a 4-byte word of LDS. Epochs count barriers and never repeat, so old marks need no clearing.
struct WordMark {
    uint64 write_epoch = 0;
    uint64 read_epoch = 0;
    Site write_site;
    Site read_site;
    int writer = -1;
    int reader = -1;  // kSeveral when threads of more than one wave or lane read in this epoch
};
constexpr int kSeveral = -2;

uint64 next_random(uint64& state) {  // xorshift64*, Vigna 2016
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717ull;
}

}  // namespace

class Workgroup {
public:
    ~Workgroup() {
        for(Fiber& fiber : fibers_)
            munmap(fiber.stack, kStackBytes);
    }

    void prepare(KernelEntry entry, const void* args, int threads, int lds_bytes, const Regions& regions, uint64 seed) {
        entry_ = entry;
        args_ = args;
        threads_ = threads;
        regions_ = &regions;
        random_ = seed;
        while(static_cast<int>(fibers_.size()) < threads)
            add_fiber();
        lds_.assign(static_cast<size_t>(lds_bytes), 0);
        marks_.resize(static_cast<size_t>(lds_bytes) / 4);
        order_.resize(static_cast<size_t>(threads));
        lds_.shrink_to_fit();  // so that AddressSanitizer sees the true end
    }

    void run(uint32 block) {
        block_ = block;
        ++epoch_;
        first_epoch_ = epoch_;
        failure_.clear();
        std::fill(lds_.begin(), lds_.end(), static_cast<char>(0xcd));
        for(int i = 0; i < threads_; ++i) {
            // One that a report left in the middle of a kernel starts again from the beginning.
            fibers_[i].started = fibers_[i].started && fibers_[i].state == State::done;
            fibers_[i].state = State::ready;
            order_[i] = i;
        }
        while(round()) {
        }
        if(!failure_.empty())
            throw HostError("workgroup " + std::to_string(block_) + ": " + failure_);
    }

    uint32 block() const { return block_; }

    void barrier(int id, Site site) { wait(id, State::at_barrier, site); }

    void collective(int id, void* payload, void (*execute)(void* const*), Site site) {
        const int first = id / kWaveSize * kWaveSize;
        fibers_[id].payload = payload;
        int arrived = 1;
        for(int lane = first; lane < first + kWaveSize; ++lane)
            arrived += lane != id && fibers_[lane].state == State::at_collective;
        if(arrived < kWaveSize) {
            wait(id, State::at_collective, site);
            return;
        }
        void* payloads[kWaveSize];
        for(int lane = 0; lane < kWaveSize; ++lane)
            payloads[lane] = fibers_[first + lane].payload;
        execute(payloads);
        for(int lane = first; lane < first + kWaveSize; ++lane)
            fibers_[lane].state = State::ready;
    }

    char* lds(int id, int offset, int bytes, bool write, Site site) {
        if(offset < 0 || offset + bytes > static_cast<int>(lds_.size()))
            fail(std::string("LDS ") + (write ? "write" : "read") + " of " + std::to_string(bytes) +
                 " bytes at offset " + std::to_string(offset) + " is outside its " + std::to_string(lds_.size()) +
                 " bytes, " + who(id) + " at " + text(site));
        if(offset % 4 != 0 || bytes % 4 != 0)
            fail("LDS access of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                 " is not made of whole 4-byte words, " + who(id) + " at " + text(site));
        for(int word = offset / 4; word < (offset + bytes) / 4; ++word)
            write ? mark_write(id, word, site) : mark_read(id, word, site);
        return lds_.data() + offset;
    }

    void check_global(int id, const char* address, int bytes, bool write, Site site) {
        for(const Region& region : *regions_)
            if(address >= region.begin && address + bytes <= region.begin + region.bytes && (region.writable || !write))
                return;
        std::string nearest;
        for(const Region& region : *regions_)
            nearest += std::string(nearest.empty() ? "" : ", ") + region.name + " " +
                       std::to_string(address - region.begin) + " of " + std::to_string(region.bytes);
        fail(std::string("global ") + (write ? "write" : "read") + " of " + std::to_string(bytes) +
             " bytes out of bounds (byte offset from each tensor: " + nearest + "), " + who(id) + " at " + text(site));
    }

private:
    static std::string who(int id) {
        return "wave " + std::to_string(id / kWaveSize) + " lane " + std::to_string(id % kWaveSize);
    }

    [[noreturn]] static void fail(const std::string& message) { throw HostError(message); }

    void add_fiber() {
        Fiber fiber;
        void* memory =
            mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if(memory == MAP_FAILED)
            throw LaunchError("host platform: no memory for a fiber's stack");
        mprotect(memory, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_NONE);  // an overflow faults
        fiber.stack = static_cast<char*>(memory);
        fibers_.push_back(fiber);
    }

    // Runs every ready fiber once, then opens the barrier when all wait at it. False when the workgroup is finished.
    bool round() {
        if(random_ != 0)
            for(size_t i = order_.size() - 1; i > 0; --i)
                std::swap(order_[i], order_[next_random(random_) % (i + 1)]);
        bool progress = false;
        for(const int id : order_) {
            if(fibers_[id].state != State::ready)
                continue;
            progress = true;
            resume(id);
            if(!failure_.empty())
                return false;
        }
        if(progress)
            return true;
        int waiting = 0;
        int finished = 0;
        for(int id = 0; id < threads_; ++id) {
            waiting += fibers_[id].state == State::at_barrier;
            finished += fibers_[id].state == State::done;
        }
        if(finished == threads_)
            return false;
        if(waiting != threads_ || wave_diverged()) {
            failure_ = "barrier mismatch: " + describe_waits();
            return false;
        }
        ++epoch_;
        for(int id = 0; id < threads_; ++id)
            fibers_[id].state = State::ready;
        return true;
    }

    // The lanes of one wave share a program counter, so they must wait at the same line.
    bool wave_diverged() const {
        for(int id = 0; id < threads_; ++id)
            if(fibers_[id].site.line != fibers_[id / kWaveSize * kWaveSize].site.line)
                return true;
        return false;
    }

    std::string describe(int id) const {
        switch(fibers_[id].state) {
        case State::done:
            return "finished";
        case State::at_barrier:
            return "waits at barrier " + text(fibers_[id].site);
        case State::at_collective:
            return "waits for its lanes at " + text(fibers_[id].site);
        default:
            return "runs";
        }
    }

    std::string describe_waits() const {
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

    void resume(int id) {
        Fiber& fiber = fibers_[id];
        current_ = id;
        void* fake = nullptr;
        StackSwitch::start(&fake, fiber.stack, kStackBytes);
        if(_setjmp(scheduler_) == 0) {
            if(fiber.started)
                _longjmp(fiber.jump, 1);
            fiber.started = true;
            ucontext_t context;
            getcontext(&context);
            context.uc_stack.ss_sp = fiber.stack;
            context.uc_stack.ss_size = kStackBytes;
            context.uc_link = nullptr;
            const auto self = reinterpret_cast<uintptr_t>(this);
            makecontext(&context, reinterpret_cast<void (*)()>(&Workgroup::trampoline), 2,
                        static_cast<unsigned>(self >> 32), static_cast<unsigned>(self));
            setcontext(&context);
        }
        StackSwitch::finish(fake, nullptr, nullptr);
    }

    static void trampoline(unsigned high, unsigned low) {
        reinterpret_cast<Workgroup*>((static_cast<uintptr_t>(high) << 32) | low)->fiber_main();
    }

    void fiber_main() {
        StackSwitch::finish(nullptr, &scheduler_stack_, &scheduler_stack_bytes_);
        const int id = current_;
        for(;;) {  // a fiber that is done waits for the next workgroup: starting one anew costs system calls
            try {
                Thread thread(*this, id);
                entry_(args_, thread);
            } catch(const std::exception& error) {
                failure_ = error.what();
            }
            wait(id, State::done, Site{});
        }
    }

    void wait(int id, State state, Site site) {
        Fiber& fiber = fibers_[id];
        fiber.state = state;
        fiber.site = site;
        StackSwitch::start(&fiber.fake_stack, scheduler_stack_, scheduler_stack_bytes_);
        if(_setjmp(fiber.jump) == 0)
            _longjmp(scheduler_, 1);
        StackSwitch::finish(fibers_[id].fake_stack, &scheduler_stack_, &scheduler_stack_bytes_);
    }

    void mark_write(int id, int word, Site site) {
        WordMark& mark = marks_[word];
        if(mark.write_epoch == epoch_ && mark.writer != id)
            race(id, word, site, "write", mark.writer, mark.write_site, "write");
        if(mark.read_epoch == epoch_ && mark.reader != id)
            race(id, word, site, "write", mark.reader, mark.read_site, "read");
        mark.write_epoch = epoch_;
        mark.writer = id;
        mark.write_site = site;
    }

    void mark_read(int id, int word, Site site) {
        WordMark& mark = marks_[word];
        if(mark.write_epoch < first_epoch_)
            fail("LDS read of bytes that nobody wrote, offset " + std::to_string(word * 4) + ", " + who(id) + " at " +
                 text(site));
        if(mark.write_epoch == epoch_ && mark.writer != id)
            race(id, word, site, "read", mark.writer, mark.write_site, "write");
        mark.reader = mark.read_epoch == epoch_ && mark.reader != id ? kSeveral : id;
        mark.read_epoch = epoch_;
        mark.read_site = site;
    }

    [[noreturn]] void race(int id, int word, Site site, const char* what, int other, Site other_site,
                           const char* other_what) {
        fail("LDS race at offset " + std::to_string(word * 4) + ": " + what + " by " + who(id) + " at " + text(site) +
             " and " + other_what + " by " + (other == kSeveral ? std::string("several threads") : who(other)) +
             " at " + text(other_site) + " with no barrier between");
    }

    KernelEntry entry_ = nullptr;
    const void* args_ = nullptr;
    const Regions* regions_ = nullptr;
    int threads_ = 0;
    uint32 block_ = 0;
    int current_ = 0;
    uint64 random_ = 0;
    uint64 epoch_ = 0;
    uint64 first_epoch_ = 0;
    std::string failure_;
    std::vector<Fiber> fibers_;
    std::vector<int> order_;
    std::vector<char> lds_;
    std::vector<WordMark> marks_;
    jmp_buf scheduler_;
    const void* scheduler_stack_ = nullptr;
    size_t scheduler_stack_bytes_ = 0;
};

void Thread::GatherLane::execute(void* const* lanes) {
    for(int lane = 0; lane < kWaveSize; ++lane) {
        const GatherLane& mine = *static_cast<const GatherLane*>(lanes[lane]);
        if(mine.first < 0 || mine.first + mine.count > kExchangeLanes)
            throw HostError("gather of " + std::to_string(mine.count) + " lanes from " + std::to_string(mine.first) +
                            " on leaves the " + std::to_string(kExchangeLanes) + " that a lane can read");
        void* const* first = lanes + lane / kExchangeLanes * kExchangeLanes + mine.first;
        for(int i = 0; i < mine.count; ++i)
            mine.result[i] = static_cast<const GatherLane*>(first[i])->value;
    }
}
void Thread::TransposeLane::execute(void* const* lanes) {
    for(int lane = 0; lane < kWaveSize; ++lane)
        for(int row = 0; row < 8; ++row) {
            const int source = lane / 16 * 16 + row % 4 * 4 + lane % 16 / 4;
            static_cast<TransposeLane*>(lanes[lane])->columns[row] =
                static_cast<const TransposeLane*>(lanes[source])->quarter_rows[row / 4][lane % 4];
        }
}
void Thread::BallotLane::execute(void* const* lanes) {
    for(int first = 0; first < kWaveSize; first += kExchangeLanes) {
        uint64 bits = 0;
        for(int lane = 0; lane < kExchangeLanes; ++lane)
            bits |= static_cast<uint64>(static_cast<const BallotLane*>(lanes[first + lane])->predicate) << lane;
        for(int lane = 0; lane < kExchangeLanes; ++lane)
            static_cast<BallotLane*>(lanes[first + lane])->result = bits;
    }
}
uint32 Thread::block_id() const { return group_->block(); }
void Thread::barrier(Site site) const { group_->barrier(id_, site); }
void Thread::collective(void* payload, void (*execute)(void* const*), Site site) const {
    group_->collective(id_, payload, execute, site);
}
char* Thread::lds(int byte_offset, int bytes, bool write, Site site) const {
    return group_->lds(id_, byte_offset, bytes, write, site);
}
void Thread::check_global(const void* address, int bytes, bool write, Site site) const {
    group_->check_global(id_, static_cast<const char*>(address), bytes, write, site);
}

HostOptions& host_options() {
    static HostOptions options;
    return options;
}

namespace {

// Workgroup engines keep their fibers' stacks from one launch to the next.
class EnginePool {
public:
    std::unique_ptr<Workgroup> take() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if(idle_.empty())
            return std::make_unique<Workgroup>();
        std::unique_ptr<Workgroup> engine = std::move(idle_.back());
        idle_.pop_back();
        return engine;
    }
    void give(std::unique_ptr<Workgroup> engine) {
        const std::lock_guard<std::mutex> lock(mutex_);
        idle_.push_back(std::move(engine));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Workgroup>> idle_;
};

EnginePool& engines() {
    static EnginePool pool;
    return pool;
}

}  // namespace

void run_grid(KernelEntry entry, const void* args, uint32 blocks, int threads, int lds_bytes, const Regions& regions) {
    if(threads % kWaveSize != 0)
        throw LaunchError("host platform: " + std::to_string(threads) + " threads are not whole waves of 64");
    const HostOptions options = host_options();
    const uint32 cores =
        std::max(1u, options.threads > 0 ? static_cast<uint32>(options.threads) : std::thread::hardware_concurrency());
    std::atomic<uint32> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](uint32 worker) {
        std::unique_ptr<Workgroup> engine = engines().take();
        try {
            engine->prepare(entry, args, threads, lds_bytes, regions, options.seed * 2654435761u * (worker + 1));
            for(uint32 block = next++; block < blocks; block = next++)
                engine->run(block);
        } catch(...) {
            next = blocks;
            const std::lock_guard<std::mutex> lock(mutex);
            if(!error)
                error = std::current_exception();
        }
        engines().give(std::move(engine));
    };
    std::vector<std::thread> helpers;
    for(uint32 worker = 1; worker < std::min(cores, blocks); ++worker)
        helpers.emplace_back(work, worker);
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
