// Copied by ckgen from templates/include/ckgen/platform/host_tma_unit.hpp. Do not edit; run: ckgen generate
// The mbarriers of a workgroup and its TMA loads in flight. Internal to the host platform.
#pragma once

#include <array>
#include <deque>

#include "ckgen/platform/host_lds.hpp"
#include "ckgen/platform/host_tma.hpp"

namespace ckgen::platform {

class Workgroup;

class TmaUnit {
public:
    explicit TmaUnit(Workgroup& group) : group_(group) {}

    // Starts a workgroup.
    void begin();

    void init(int id, uint32 address, int arrivals, Site site);
    void fence_init(Site site);
    void expect(int id, uint32 address, int bytes, Site site);
    // Arrives at an mbarrier of the workgroup with this rank in the cluster.
    void arrive(int id, int rank, uint32 address, Site site);
    void wait(int id, uint32 address, int parity, Site site);
    void start(int id, const TmaRequest& request);

    // Copies of `size` bytes, 4 or 16, the first `bytes` of them from `source`, the others zero. They are in groups: a
    // thread's own, which it waits for. Until then the bytes have no value.
    void start_word(int id, uint32 target, const void* source, int bytes, int size, Site site);
    void commit_words(int id) { words_of(id).emplace_back(); }
    void wait_for_words(int id, int left);

    // The threads of all workgroups of the cluster have met.
    void meet() { elsewhere_ = {}; }

    // Executes a few of the copies in flight, chosen at random.
    void do_some(uint64& random);
    // Executes the oldest copy in flight; false if there is none.
    bool do_one();
    // Describes the event for which a thread sleeps at an mbarrier.
    std::string describe(int index) const;
    // The reason why the workgroup may not end yet, or empty.
    std::string unfinished() const;

private:
    // PTX ISA 9.0, 9.7.13.15: a phase is complete when all threads have arrived and all bytes that they expect have
    // been copied.
    struct Mbarrier {
        int offset;
        int arrivals;
        int missing;
        int64 bytes = 0;  // expected and not yet copied
        uint32 phase = 0;
        bool published = false;
        int owner;  // the thread that initialised it
        Site owner_site;
        Site expect_site;
        Clocks::Row arriving, released;
    };
    struct Copy {
        TmaRequest request;
        int rank;  // of the workgroup whose LDS is written
        int mbarrier;
        uint32 phase;
        Clocks::Row known;  // knowledge of the thread that issued it
    };

    struct Word {
        uint32 target;
        std::array<char, 16> value;
        int size;
        Site site;
    };
    using WordGroups = std::deque<std::vector<Word>>;  // of a thread; the last one is not committed

    static std::string name(const Mbarrier& barrier) { return "mbarrier at offset " + std::to_string(barrier.offset); }
    WordGroups& words_of(int id);
    int find(int id, int rank, uint32 address, const char* what, Site site);
    void start_at(int id, int rank, const TmaRequest& request);
    void arrived(int id, Mbarrier& barrier, Site site);
    void try_complete(int index);
    void execute(const Copy& copy);
    int64 load_slot(const Copy& copy);
    int64 load_tiled(const Copy& copy);
    int64 load_im2col(const Copy& copy);
    // Copies one run of channels at a position; zeros outside the tensor.
    void copy_row(const Copy& copy, int64 row, const int64* position);
    void round_row();
    // Writes the bytes of row_ to LDS from an address on.
    void put_row(const Copy& copy, uint32 start, bool swizzled);

    Workgroup& group_;
    std::vector<Mbarrier> mbarriers_;
    std::vector<Copy> copies_;
    std::vector<WordGroups> words_;  // by thread
    std::vector<char> row_;
    Site elsewhere_;  // the last access to another workgroup's LDS since they met
};

}  // namespace ckgen::platform
