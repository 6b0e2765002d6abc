// Copied by ckgen from templates/src/host/tma.cpp. Do not edit; run: ckgen generate
// The host platform's mbarriers and TMA loads: PTX ISA 9.0, 9.7.13.15 (mbarrier), 9.7.9.27 (cp.async.bulk.tensor) and
// 5.5 (tensor modes: tiled and im2col boxes, elements outside, swizzles).
#include "ckgen/platform/host_workgroup.hpp"

namespace ckgen::platform {

void TmaUnit::begin() {
    mbarriers_.clear();
    copies_.clear();
    words_.clear();
    meet();
}

void TmaUnit::init(int id, uint32 address, int arrivals, Site site) {
    CheckedLds& lds = group_.lds;
    lds.track();
    const int offset = group_.place(id, static_cast<int>(address - lds_start()));
    const Access access = lds.by_thread(id, site);
    if(address % 8 != 0 || arrivals < 1 || arrivals > 0xfffff)
        lds.fail("an mbarrier for " + std::to_string(arrivals) + " arrivals at address " + std::to_string(address) +
                 ", which should be a multiple of 8, " + lds.said(access));
    Mbarrier* before = nullptr;
    for(Mbarrier& known : mbarriers_)
        before = known.offset == offset ? &known : before;
    if(before != nullptr)
        lds.end_mbarrier(offset);
    std::memset(lds.access(access, offset, 8, true), 0xbb, 8);
    lds.keep_mbarrier(offset);
    Mbarrier made{};
    made.offset = offset;
    made.arrivals = made.missing = arrivals;
    made.owner = id;
    made.owner_site = site;
    if(before != nullptr) {
        made.phase = (before->phase + 2) & ~1u;  // even, as for a new mbarrier, and not used before
        *before = made;
        return;
    }
    if(mbarriers_.size() == Agents::kMaxBarriers)
        lds.fail("more than " + std::to_string(Agents::kMaxBarriers) + " mbarriers, " + lds.said(access));
    mbarriers_.push_back(made);
}

void TmaUnit::fence_init(Site) {
    for(Mbarrier& barrier : mbarriers_)
        barrier.published = true;
}

int TmaUnit::find(int id, int rank, uint32 address, const char* what, Site site) {
    CheckedLds& lds = group_.lds;
    lds.track();
    const int offset = group_.place_at(rank, static_cast<int>(address - lds_start()));
    const Access access = lds.by_thread(id, site);
    for(size_t i = 0; i < mbarriers_.size(); ++i) {
        const Mbarrier& barrier = mbarriers_[i];
        if(barrier.offset != offset)
            continue;
        if(!lds.after_write(access, offset))
            lds.fail(std::string(what) + " on the " + name(barrier) + " by " + lds.said(access) + ", which " +
                     lds.clocks.agents().name(barrier.owner) + " initialised at " + text(barrier.owner_site) +
                     " with no barrier between");
        return static_cast<int>(i);
    }
    lds.fail(std::string(what) + " at offset " + std::to_string(offset) + ", where no mbarrier is, by " +
             lds.said(access));
}

void TmaUnit::expect(int id, uint32 address, int bytes, Site site) {
    const int index = find(id, group_.rank(id), address, "mbarrier_expect", site);
    Mbarrier& barrier = mbarriers_[static_cast<size_t>(index)];
    barrier.bytes += bytes;
    barrier.expect_site = site;
    arrived(id, barrier, site);
    try_complete(index);
}

void TmaUnit::arrive(int id, int rank, uint32 address, Site site) {
    const int index = find(id, rank, address, "mbarrier_arrive", site);
    if(rank != group_.rank(id))
        elsewhere_ = site;
    arrived(id, mbarriers_[static_cast<size_t>(index)], site);
    try_complete(index);
}

void TmaUnit::arrived(int id, Mbarrier& barrier, Site site) {
    if(barrier.missing == 0)
        group_.lds.fail("arrival number " + std::to_string(barrier.arrivals + 1) + " in one phase of the " +
                        name(barrier) + ", which is for " + std::to_string(barrier.arrivals) + ", " +
                        group_.lds.said(group_.lds.by_thread(id, site)));
    --barrier.missing;
    group_.lds.clocks.release(id, barrier.arriving);
}

// Ends the phase if nothing is missing any more.
void TmaUnit::try_complete(int index) {
    Mbarrier& barrier = mbarriers_[static_cast<size_t>(index)];
    if(barrier.missing == 0 && barrier.bytes < 0)
        group_.lds.fail("copies brought " + std::to_string(-barrier.bytes) + " bytes more than the phase of the " +
                        name(barrier) + " expects at " + text(barrier.expect_site));
    if(barrier.missing != 0 || barrier.bytes != 0)
        return;
    ++barrier.phase;
    barrier.missing = barrier.arrivals;
    barrier.released = barrier.arriving;
    uint32& copies = barrier.released[static_cast<size_t>(group_.lds.clocks.agents().mbarrier(index))];
    copies = barrier.phase;  // a copy's time is the phase that it belongs to, plus one
    group_.wake(index);
}

void TmaUnit::wait(int id, uint32 address, int parity, Site site) {
    for(;;) {
        const int index = find(id, group_.rank(id), address, "mbarrier_wait", site);
        const Mbarrier& barrier = mbarriers_[static_cast<size_t>(index)];
        if((barrier.phase & 1) != static_cast<uint32>(parity)) {
            if(!barrier.released.empty())  // a new one has no earlier phase
                group_.lds.clocks.acquire(id, barrier.released);
            return;
        }
        group_.wait_for_mbarrier(id, index, site);
    }
}

void TmaUnit::start(int id, const TmaRequest& request) {
    if(request.ranks == 0)
        start_at(id, group_.rank(id), request);
    for(int rank = 0; rank < request.ranks; ++rank)
        start_at(id, rank, request);
    if(request.ranks > 1)
        elsewhere_ = request.site;
}

void TmaUnit::start_at(int id, int rank, const TmaRequest& request) {
    CheckedLds& lds = group_.lds;
    const int index = find(id, rank, request.barrier, "a copy that counts", request.site);
    const Mbarrier& barrier = mbarriers_[static_cast<size_t>(index)];
    const Access access = lds.by_thread(id, request.site);
    if(!barrier.published)
        lds.fail("a copy counts on the " + name(barrier) + ", which no fence_mbarrier_init made visible, " +
                 lds.said(access));
    copies_.push_back({request, rank, index, barrier.phase, lds.clocks.snapshot(id)});
    if(request.map == nullptr) {
        if(request.target % 16 != 0 || reinterpret_cast<std::uintptr_t>(request.source) % 16 != 0)
            lds.fail("a copy to address " + std::to_string(request.target) +
                     ", which and whose source must be multiples of 16, " + lds.said(access));
        mbarriers_[static_cast<size_t>(index)].bytes += 16;
        return;
    }
    const TensorMap& map = *request.map;
    if(request.target % 128 != 0)
        lds.fail("a copy to address " + std::to_string(request.target) + ", which is not a multiple of 128, " +
                 lds.said(access));
    if(!map.im2col && request.position[0] * map.strides[0] % 16 != 0)  // an illegal instruction on an H100
        lds.fail("a copy from element " + std::to_string(request.position[0]) +
                 " of a row on, which is not a multiple of 16 bytes, " + lds.said(access));
    const int64 reach = map.box[0] * map.strides[0];
    if(map.swizzled && reach != 128 && reach != 64)
        lds.fail("a copy of swizzled rows of " + std::to_string(reach) + " bytes, " + lds.said(access));
}

void TmaUnit::do_some(uint64& random) {
    for(size_t left = copies_.size(); left > 0; --left)
        if(next_random(random) % 4 == 0) {
            const auto chosen = static_cast<std::ptrdiff_t>(next_random(random) % copies_.size());
            const Copy copy = copies_[static_cast<size_t>(chosen)];
            copies_.erase(copies_.begin() + chosen);
            execute(copy);
        }
}

bool TmaUnit::do_one() {
    if(copies_.empty())
        return false;
    const Copy copy = copies_.front();
    copies_.erase(copies_.begin());
    execute(copy);
    return true;
}

void TmaUnit::execute(const Copy& copy) {
    const int64 bytes = copy.request.map == nullptr ? load_slot(copy)
                        : copy.request.map->im2col  ? load_im2col(copy)
                                                    : load_tiled(copy);
    Mbarrier& barrier = mbarriers_[static_cast<size_t>(copy.mbarrier)];
    if(barrier.phase != copy.phase)
        group_.lds.fail("a copy issued at " + text(copy.request.site) + " counts on a phase of the " + name(barrier) +
                        " that was over before it came; what that expects is said at " + text(barrier.expect_site));
    barrier.bytes -= bytes;
    try_complete(copy.mbarrier);
}

int64 TmaUnit::load_slot(const Copy& copy) {
    const TmaRequest& request = copy.request;
    if(request.bytes > 0 && !group_.reaches(request.source, request.bytes, false))
        group_.out_of_bounds("a copy", request.source, request.bytes, false, request.site);
    row_.assign(request.source, request.source + request.bytes);
    row_.resize(16);
    put_row(copy, request.target, false);
    return 16;
}

TmaUnit::WordGroups& TmaUnit::words_of(int id) {
    if(words_.empty())
        words_.assign(static_cast<size_t>(group_.threads()), WordGroups(1));
    return words_[static_cast<size_t>(id)];
}

void TmaUnit::start_word(int id, uint32 target, const void* source, int bytes, int size, Site site) {
    CheckedLds& lds = group_.lds;
    lds.track();
    const Access access = lds.by_thread(id, site);
    Word word{target, {}, size, site};
    if(bytes > 0) {
        const auto* from = static_cast<const char*>(source);
        if((reinterpret_cast<std::uintptr_t>(from) | target) % static_cast<std::uintptr_t>(size) != 0)
            lds.fail("a copy of " + std::to_string(size) + " bytes between addresses that are not multiples of it, " +
                     lds.said(access));
        if(!group_.reaches(from, bytes, false))
            group_.out_of_bounds("a copy", from, bytes, false, site);
        std::memcpy(word.value.data(), from, static_cast<size_t>(bytes));
    }
    const int offset = group_.place(id, static_cast<int>(target - lds_start()));
    std::memset(lds.access(access, offset, size, true), 0xff, static_cast<size_t>(size));
    words_of(id).back().push_back(word);
}

void TmaUnit::wait_for_words(int id, int left) {
    WordGroups& groups = words_of(id);
    for(; groups.size() > static_cast<size_t>(left) + 1; groups.pop_front())
        for(const Word& word : groups.front()) {
            const Access access = group_.lds.by_thread(id, word.site);
            const int offset = group_.place(id, static_cast<int>(word.target - lds_start()));
            std::memcpy(group_.lds.access(access, offset, word.size, true), word.value.data(),
                        static_cast<size_t>(word.size));
        }
}

int64 TmaUnit::load_tiled(const Copy& copy) {
    const TensorMap& map = *copy.request.map;
    int64 counts[5] = {1, 1, 1, 1, 1};
    int64 rows = 1;
    for(int d = 1; d < map.rank; ++d) {
        counts[d] = (map.box[d] + map.steps[d] - 1) / map.steps[d];
        rows *= counts[d];
    }
    for(int64 row = 0; row < rows; ++row) {
        int64 position[5];
        position[0] = copy.request.position[0];
        int64 index = row;
        for(int d = 1; d < map.rank; ++d) {
            position[d] = copy.request.position[d] + index % counts[d] * map.steps[d];
            index /= counts[d];
        }
        copy_row(copy, row, position);
    }
    return rows * map.box[0] * map.strides[0];
}

// Positions begin at the given one and advance by the steps up to the box's upper corner, continue at its lower corner
// in the next row, and so on to the next image. The elements copied are at these positions plus the tap's offset.
int64 TmaUnit::load_im2col(const Copy& copy) {
    const TensorMap& map = *copy.request.map;
    int64 base[5];
    for(int d = 0; d < map.rank; ++d)
        base[d] = copy.request.position[d];
    for(int64 row = 0; row < map.pixels; ++row) {
        int64 position[5];
        for(int d = 0; d < map.rank; ++d)
            position[d] = base[d] + (d > 0 && d < map.rank - 1 ? copy.request.tap[d - 1] : 0);
        copy_row(copy, row, position);
        for(int d = 1; d < map.rank; ++d) {
            base[d] += map.steps[d];
            if(d == map.rank - 1 || base[d] <= map.sizes[d] - 1 + map.upper[d - 1])
                break;
            base[d] = map.lower[d - 1];
        }
    }
    return map.pixels * map.box[0] * map.strides[0];
}

// Rounds f32 to tf32: nearest, ties to even, as found on an H100. NaN stays NaN.
void TmaUnit::round_row() {
    for(size_t at = 0; at < row_.size(); at += sizeof(uint32)) {
        uint32 bits;
        std::memcpy(&bits, row_.data() + at, sizeof(bits));
        const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
        bits = (is_nan ? bits | 0x400000u : bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu;
        std::memcpy(row_.data() + at, &bits, sizeof(bits));
    }
}

void TmaUnit::copy_row(const Copy& copy, int64 row, const int64* position) {
    const TensorMap& map = *copy.request.map;
    const int64 element = map.strides[0];
    const auto row_bytes = static_cast<size_t>(map.box[0] * element);
    row_.assign(row_bytes, 0);
    const int64 first = std::max<int64>(position[0], 0);
    const int64 last = std::min(position[0] + map.box[0], map.sizes[0]);
    bool inside = first < last;
    const char* source = map.base + first * element;
    for(int d = 1; d < map.rank; ++d) {
        inside = inside && position[d] >= 0 && position[d] < map.sizes[d];
        source += position[d] * map.strides[d];
    }
    if(inside) {
        const auto bytes = static_cast<int>((last - first) * element);
        if(!group_.reaches(source, bytes, false))
            group_.out_of_bounds("a copy", source, bytes, false, copy.request.site);
        std::memcpy(row_.data() + (first - position[0]) * element, source, static_cast<size_t>(bytes));
        if(map.rounds)
            round_row();
    }
    put_row(copy, copy.request.target + static_cast<uint32>(row) * static_cast<uint32>(row_bytes), map.swizzled);
}

void TmaUnit::put_row(const Copy& copy, uint32 start, bool swizzled) {
    CheckedLds& lds = group_.lds;
    const int agent = lds.clocks.agents().mbarrier(copy.mbarrier);
    const Access access{-1, agent, copy.phase + 1, copy.known.data(), 0, copy.request.site};
    for(uint32 chunk = 0; chunk < row_.size(); chunk += 16) {
        uint32 address = start + chunk;
        if(swizzled)
            address ^= address >> 3 & (row_.size() == 128 ? 0x70u : 0x30u);
        const int offset = group_.place_at(copy.rank, static_cast<int>(address - lds_start()));
        std::memcpy(lds.access(access, offset, 16, true), row_.data() + chunk, 16);
    }
}

std::string TmaUnit::describe(int index) const {
    const Mbarrier& barrier = mbarriers_[static_cast<size_t>(index)];
    return "for phase " + std::to_string(barrier.phase) + " of the " + name(barrier) + ", where " +
           std::to_string(barrier.missing) + " of " + std::to_string(barrier.arrivals) + " arrivals and " +
           std::to_string(barrier.bytes) + " bytes are missing";
}

std::string TmaUnit::unfinished() const {
    const auto at = [](Site site) {
        return "the workgroup ends while a copy issued at " + text(site) + " is on its way";
    };
    if(!copies_.empty())
        return at(copies_.front().request.site);
    for(const WordGroups& groups : words_)
        for(const std::vector<Word>& group : groups)
            if(!group.empty())
                return at(group.front().site);
    if(elsewhere_.file != nullptr)
        return "a workgroup may end before another of its cluster accesses its LDS at " + text(elsewhere_) +
               ": no cluster_barrier after";
    return {};
}

namespace {
TmaUnit& engine() { return Workgroup::running().copies; }
int self() { return Workgroup::running().current(); }
}  // namespace

void mbarrier_init(uint32 barrier, int arrivals, Site site) { engine().init(self(), barrier, arrivals, site); }
void fence_mbarrier_init(Site site) { engine().fence_init(site); }
void mbarrier_expect(uint32 barrier, int bytes, Site site) { engine().expect(self(), barrier, bytes, site); }
void mbarrier_arrive(uint32 barrier, Site site) { mbarrier_arrive_at(barrier, cluster_rank(), site); }
void mbarrier_arrive_at(uint32 barrier, int rank, Site site) { engine().arrive(self(), rank, barrier, site); }
void mbarrier_wait(uint32 barrier, int parity, Site site) { engine().wait(self(), barrier, parity, site); }
int cluster_rank() { return Workgroup::running().rank(self()); }
void cluster_barrier(Site site) { Workgroup::running().barrier(self(), site); }
void start_tma(const TmaRequest& request) {
    Workgroup::running().check_early(self(), request.site);
    engine().start(self(), request);
}
void async_copy_word(uint32 target, const void* source, bool copies, Site site) {
    Workgroup::running().check_early(self(), site);
    engine().start_word(self(), target, source, copies ? 4 : 0, 4, site);
}
void async_copy_part(uint32 target, const void* source, int bytes, Site site) {
    Workgroup::running().check_early(self(), site);
    engine().start_word(self(), target, source, bytes, 16, site);
}
void async_commit() { engine().commit_words(self()); }
void async_wait_for(int left) { engine().wait_for_words(self(), left); }

}  // namespace ckgen::platform
