// Rows of 32 neighbouring words that the load role of a wgmma kernel copies by cp.async, one word per lane. TMA copies
// from multiples of 16 bytes only; these rows begin anywhere and may pass from one image to the next.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

// Every Step-th of the Rows rows of a swizzled tile: those that one warp copies.
template <int Rows, int Step>
class WordRows {
    static constexpr int count = Rows / Step;
    static_assert(count % 4 == 0, "a warp rounds four rows at once");

public:
    // `first`: the first of these rows, less than Step.
    CKGEN_DEVICE WordRows(const platform::Thread& thread, int first)
        : thread_(thread), lane_(thread.thread_id() % 32), first_(first) {}

    // Copies to the tile at shared-memory address `tile`. `source`: this lane's word of the first of the rows; `pitch`:
    // bytes from a row of the tile to the next; `rows`: of the tile that have a word for this lane. Others become zero.
    CKGEN_DEVICE void copy(uint32 tile, const char* source, int64 pitch, int rows) const {
        const uint32 own = tile + static_cast<uint32>(first_ * 128 + lane_ % 4 * 4);
        const uint32 slot = static_cast<uint32>(lane_ / 4 ^ (first_ & 7)) * 16;
        CKGEN_UNROLL
        for(int i = 0; i < count; ++i) {
            platform::async_copy_word(own + i * Step * 128 + (slot ^ (i * Step & 7) * 16), source,
                                      first_ + i * Step < rows);
            source += pitch * Step;
        }
    }
    // Rounds the rows to tf32, when all lanes of the warp have waited for their words. `tile`: byte of LDS.
    CKGEN_DEVICE void round(int tile) const {
        const int own = tile + (first_ + lane_ / 8 * Step) * 128 + lane_ % 8 * 16;
        CKGEN_UNROLL
        for(int i = 0; i < count; i += 4) {
            auto words = thread_.template lds_load<Vec<uint32, 4>>(own + i * Step * 128);
            CKGEN_UNROLL
            for(int word = 0; word < 4; ++word)
                words[word] = rounded(words[word]);
            thread_.lds_store(own + i * Step * 128, words);
        }
    }

private:
    // Adds half a unit in the last place of tf32. wgmma ignores the bits after it, so this rounds to nearest, ties away
    // from zero; infinities and NaN stay. Two instructions, where Convert<tf32_t> takes five.
    static CKGEN_DEVICE uint32 rounded(uint32 bits) {
        const float power = __builtin_bit_cast(float, bits & 0xff800000u);  // of two, with the sign of the number
        return __builtin_bit_cast(uint32, __builtin_fmaf(power, 0x1p-11f, __builtin_bit_cast(float, bits)));
    }

    const platform::Thread& thread_;
    const int lane_, first_;
};

// The stages whose words are on their way: a warp of the load role copies a few stages before it waits for the first.
// Two stages of the ring are left to the math role, which multiplies one before it releases the one before.
template <class D>
class WordStages {
    static constexpr int most = min_of(D::stages / 2, D::stages - 2);

public:
    CKGEN_DEVICE explicit WordStages(const TmaRing<D>& ring) : next_(ring) {}

    // The words of one more stage are on their way. `rounded` is called with a stage whose words have arrived.
    template <class Rounded>
    CKGEN_DEVICE void add(const platform::Thread& thread, const Rounded& rounded) {
        platform::async_commit();
        if(++count_ <= most)
            return;
        platform::async_wait<most>();
        pass(thread, rounded);
    }
    // Waits for all of them.
    template <class Rounded>
    CKGEN_DEVICE void finish(const platform::Thread& thread, const Rounded& rounded) {
        platform::async_wait<0>();
        while(count_ > 0)
            pass(thread, rounded);
    }

private:
    // Signals the oldest stage.
    template <class Rounded>
    CKGEN_DEVICE void pass(const platform::Thread& thread, const Rounded& rounded) {
        platform::sync_warp();  // all lanes have waited
        if constexpr(IsSame<typename D::ComputeA, tf32_t>::value)
            rounded(next_);
        platform::fence_proxy_async();
        platform::sync_warp();
        if(thread.thread_id() % 32 == 0)
            platform::mbarrier_arrive(next_.full());
        next_.next();
        --count_;
    }

    TmaRing<D> next_;
    int count_ = 0;
};

}  // namespace ckgen::pipeline
