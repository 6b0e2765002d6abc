// Copied by ckgen from templates/include/ckgen/platform/host_lds.hpp. Do not edit; run: ckgen generate
// The host platform's LDS: checks every access against earlier accesses to the same bytes.
#pragma once

#include "ckgen/platform/host.hpp"
#include "ckgen/platform/host_clocks.hpp"

namespace ckgen::platform {

inline std::string text(Site site) {
    std::string file = site.file ? site.file : "?";
    const size_t at = file.rfind("ckgen/");
    return (at == std::string::npos ? file : file.substr(at)) + ":" + std::to_string(site.line);
}

// One access. `self`: the thread for which it is done, or an asynchronous agent. `knows`: the knowledge of that agent
// about the operations of others.
struct Access {
    int self;
    int agent;
    uint32 time;
    const uint32* knows;
    int slot;  // readers of a word are recorded per slot
    Site site;
};

class CheckedLds {
public:
    Clocks clocks;

    void prepare(int threads, int bytes) {
        data_.assign(static_cast<size_t>(bytes), 0);
        data_.shrink_to_fit();  // so that AddressSanitizer sees the true end
        marks_.resize(static_cast<size_t>(bytes) / 4);
        clocks.reset(threads);
        const int slots = clocks.agents().warps() + clocks.agents().warpgroups();
        if(slots != slots_)  // the records of readers have moved
            for(WordMark& mark : marks_)
                mark.read_slots = 0;
        slots_ = slots;
        first_asynchronous_ = clocks.agents().first_asynchronous();
    }
    // Starts a workgroup: no byte is written yet.
    void begin() {
        ++epoch_;
        first_epoch_ = epoch_;
        std::fill(data_.begin(), data_.end(), static_cast<char>(0xcd));
        clocks.reset(clocks.agents().threads);
    }
    // The workgroup's barrier opens.
    void pass_barrier() {
        ++epoch_;
        if(clocks.active())
            clocks.share_asynchronous();
    }
    // Starts the clocks: from now on threads also synchronise by other means than the workgroup's barrier.
    void track() {
        clocks.start();
        readers_.resize(marks_.size() * static_cast<size_t>(slots_));
    }

    int bytes() const { return static_cast<int>(data_.size()); }
    Access by_thread(int id, Site site) const {
        return {id, id, clocks.now(id), clocks.row(id), id / Agents::kWarp, site};
    }
    char* access(const Access& a, int offset, int bytes, bool write) {
        char* data = find(a, offset, bytes, write);
        mark(a, offset, bytes, write);
        return data;
    }
    // The two steps of access(), for reads that matter only if their values are used later.
    char* find(const Access& a, int offset, int bytes, bool write) {
        if(offset < 0 || offset + bytes > static_cast<int>(data_.size()))
            outside(a, offset, bytes, write);
        if((offset % 4 != 0 || bytes % 4 != 0) && !is_part(offset, bytes))
            no_words(a, offset, bytes);
        return data_.data() + offset;
    }
    void mark(const Access& a, int offset, int bytes, bool write) {
        const int part = is_part(offset, bytes) ? ((1 << bytes) - 1) << offset % 4 : kWholeWord;
        for(int word = offset / 4; word < (offset + bytes + 3) / 4; ++word)
            write ? mark_write(a, word, part) : mark_read(a, word, part);
    }
    // Makes the 8 bytes at `offset` an mbarrier: other accesses to them are errors.
    void keep_mbarrier(int offset) {
        for(int word = offset / 4; word < offset / 4 + 2; ++word)
            marks_[static_cast<size_t>(word)].mbarrier_epoch = first_epoch_;
    }
    void end_mbarrier(int offset) {
        for(int word = offset / 4; word < offset / 4 + 2; ++word)
            marks_[static_cast<size_t>(word)].mbarrier_epoch = 0;
    }
    // True if `a` comes after the last write at `offset`.
    bool after_write(const Access& a, int offset) const {
        const WordMark& mark = marks_[static_cast<size_t>(offset) / 4];
        return mark.writer == a.self || over(mark.writer, mark.write_time, mark.write_epoch, a.knows);
    }

    std::string said(const Access& a) const { return clocks.agents().name(a.agent) + " at " + text(a.site); }
    [[noreturn]] static void fail(const std::string& message) { throw HostError(message); }

private:
    // The last accesses to a 4-byte word. Epochs count barriers and never repeat, so old marks need no clearing.
    struct WordMark {
        uint64 write_epoch = 0;
        uint64 read_epoch = 0;
        uint64 read_slots = 0;      // with clocks: slots that read since the last write
        uint64 mbarrier_epoch = 0;  // first_epoch_ of the workgroup while the word is part of an mbarrier
        Site write_site;
        Site read_site;
        uint32 write_time = 0;
        int writer = -1;
        int reader = -1;  // kSeveral if more than one thread read in this epoch
        // Bytes of the word, a bit each: written in this workgroup, and in write_epoch.
        unsigned char written = 0;
        unsigned char fresh = 0;
    };
    // The last read from a slot. It does not distinguish two lanes of a warp that read the same word.
    struct Reader {
        uint64 epoch = 0;
        uint32 time = 0;
        int agent = -1;
    };
    static constexpr int kSeveral = -2;
    static constexpr int kWholeWord = 15;

    // Threads may access elements of 8 and 16 bits; the parts of a word then have different writers.
    static bool is_part(int offset, int bytes) { return bytes == 1 || (bytes == 2 && offset % 2 == 0); }

    // True if an operation is complete for an agent with knowledge `row`: the workgroup passed a barrier since, or the
    // agent learned of it by other means.
    bool over(int agent, uint32 time, uint64 epoch, const uint32* row) const {
        return epoch < first_epoch_ || (epoch < epoch_ && agent < first_asynchronous_) ||
               (row != nullptr && agent >= 0 && row[agent] >= time);
    }

    void mark_write(const Access& a, int word, int written) {
        WordMark& mark = marks_[static_cast<size_t>(word)];
        const bool other_part = mark.write_epoch == epoch_ && (mark.fresh & written) == 0;
        if(!other_part || mark.mbarrier_epoch == first_epoch_)
            check_writer(a, word, mark, "write");
        if(mark.read_epoch == epoch_ && mark.reader != a.self)
            race(a, word, "write", mark.reader, mark.read_site, "read");
        for(uint64 left = mark.read_slots; left != 0; left &= left - 1) {
            const Reader& reader = readers_[static_cast<size_t>(word * slots_ + __builtin_ctzll(left))];
            if(reader.agent != a.self && !over(reader.agent, reader.time, reader.epoch, a.knows))
                race(a, word, "write", reader.agent, mark.read_site, "read");
        }
        mark.read_slots = 0;
        mark.written = static_cast<unsigned char>((mark.write_epoch < first_epoch_ ? 0 : mark.written) | written);
        mark.fresh = static_cast<unsigned char>((mark.write_epoch < epoch_ ? 0 : mark.fresh) | written);
        mark.write_epoch = epoch_;
        mark.writer = other_part && mark.writer != a.agent ? kSeveral : a.agent;
        mark.write_time = a.time;
        mark.write_site = a.site;
    }

    void mark_read(const Access& a, int word, int part) {
        WordMark& mark = marks_[static_cast<size_t>(word)];
        if(mark.write_epoch < first_epoch_ || (mark.written & part) != part)
            unwritten(a, word);
        check_writer(a, word, mark, "read");
        mark.read_site = a.site;
        if(clocks.active()) {
            readers_[static_cast<size_t>(word * slots_ + a.slot)] = {epoch_, a.time, a.agent};
            mark.read_slots |= uint64{1} << a.slot;
            return;
        }
        mark.reader = mark.read_epoch == epoch_ && mark.reader != a.agent ? kSeveral : a.agent;
        mark.read_epoch = epoch_;
    }

    void check_writer(const Access& a, int word, const WordMark& mark, const char* what) const {
        if(mark.mbarrier_epoch == first_epoch_)
            in_mbarrier(a, word, mark, what);
        if(mark.writer != a.self && !over(mark.writer, mark.write_time, mark.write_epoch, a.knows))
            race(a, word, what, mark.writer, mark.write_site, "write");
        // Stores of threads and accesses of asynchronous agents take different paths to the same memory.
        if(a.agent >= first_asynchronous_ && mark.writer >= 0 && mark.writer < clocks.agents().threads &&
           mark.write_epoch >= first_epoch_ && !clocks.published(mark.writer, mark.write_time))
            unpublished(a, word, mark, what);
    }

    // Reports are separate functions to keep the checks small: every access to a word runs them.
    [[noreturn, gnu::cold, gnu::noinline]] void outside(const Access& a, int offset, int bytes, bool write) const {
        fail(std::string("LDS ") + (write ? "write" : "read") + " of " + std::to_string(bytes) + " bytes at offset " +
             std::to_string(offset) + " is outside its " + std::to_string(data_.size()) + " bytes, " + said(a));
    }
    [[noreturn, gnu::cold, gnu::noinline]] void no_words(const Access& a, int offset, int bytes) const {
        fail("LDS access of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
             " is neither made of whole 4-byte words nor a part of one, " + said(a));
    }
    [[noreturn, gnu::cold, gnu::noinline]] void unwritten(const Access& a, int word) const {
        fail("LDS read of bytes that nobody wrote, offset " + std::to_string(word * 4) + ", " + said(a));
    }
    [[noreturn, gnu::cold, gnu::noinline]] void in_mbarrier(const Access& a, int word, const WordMark& mark,
                                                            const char* what) const {
        fail("LDS " + std::string(what) + " at offset " + std::to_string(word * 4) + " by " + said(a) +
             " of an mbarrier, initialised at " + text(mark.write_site));
    }
    [[noreturn, gnu::cold, gnu::noinline]] void unpublished(const Access& a, int word, const WordMark& mark,
                                                            const char* what) const {
        fail("LDS " + std::string(what) + " at offset " + std::to_string(word * 4) + " by " + said(a) +
             " of bytes that " + clocks.agents().name(mark.writer) + " stored at " + text(mark.write_site) +
             ", with no fence_proxy_async between");
    }
    [[noreturn, gnu::cold, gnu::noinline]] void race(const Access& a, int word, const char* what, int other,
                                                     Site other_site, const char* other_what) const {
        fail("LDS race at offset " + std::to_string(word * 4) + ": " + what + " by " + said(a) + " and " + other_what +
             " by " + (other == kSeveral ? std::string("several threads") : clocks.agents().name(other)) + " at " +
             text(other_site) + " with no barrier between");
    }

    uint64 epoch_ = 0;
    uint64 first_epoch_ = 0;
    int slots_ = 0;
    int first_asynchronous_ = 0;
    std::vector<char> data_;
    std::vector<WordMark> marks_;
    std::vector<Reader> readers_;
};

}  // namespace ckgen::platform
