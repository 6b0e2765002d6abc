// Copied by ckgen from templates/include/ckgen/pipeline/tma/word_rows.hpp. Do not edit; run: ckgen generate
// Rows of 32 neighbouring words that the load role of a wgmma kernel copies by cp.async, one word per lane. TMA copies
// from multiples of 16 bytes only; these rows begin anywhere and may pass from one image to the next.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/pipeline/tma/tma_ring.hpp"

namespace ckgen::pipeline {

// Rounds words to tf32 in place. wgmma ignores the last 13 bits, so adding half a unit of the bit before them rounds to
// nearest, ties away from zero; infinities and NaN stay. Two instructions, where Convert<tf32_t> takes five. `byte`: of
// LDS.
CKGEN_DEVICE void round_words(const platform::Thread& thread, int byte) {
    auto words = thread.template lds_load<Vec<uint32, 4>>(byte);
    CKGEN_UNROLL
    for(int word = 0; word < 4; ++word) {
        const float power = __builtin_bit_cast(float, words[word] & 0xff800000u);  // of two, with the number's sign
        words[word] = __builtin_bit_cast(
            uint32, __builtin_fmaf(power, 0x1p-11f, __builtin_bit_cast(float, static_cast<uint32>(words[word]))));
    }
    thread.lds_store(byte, words);
}

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
        for(int i = 0; i < count; i += 4)
            round_words(thread_, own + i * Step * 128);
    }

private:
    const platform::Thread& thread_;
    const int lane_, first_;
};

// The rows of a swizzled tile that one warp copies where neighbouring words in memory are in different rows: every
// fourth block of eight rows, by 32 words. Eight lanes have neighbouring rows, and four groups of lanes neighbouring
// words.
template <int Rows>
class WordColumns {
    static constexpr int count = Rows / 32;  // blocks

public:
    CKGEN_DEVICE WordColumns(const platform::Thread& thread, int warp)
        : thread_(thread), lane_(thread.thread_id() % 32), warp_(warp) {}

    // The row and the word of the tile that this lane copies first.
    CKGEN_DEVICE int row() const { return warp_ * 8 + lane_ % 8; }
    CKGEN_DEVICE int word() const { return lane_ / 8; }
    // Copies to the tile at shared-memory address `tile`. `source`: the first word; `pitch`, `row_pitch`: bytes from a
    // word, or a row, of the tile to the next; `rows`, `words`: of the tile that exist. Others become zero.
    CKGEN_DEVICE void copy(uint32 tile, const char* source, int64 pitch, int64 row_pitch, int rows, int words) const {
        CKGEN_UNROLL
        for(int i = 0; i < count; ++i) {
            const char* from = source + i * 32 * row_pitch;
            const int left = row() + i * 32 < rows ? words : 0;
            const uint32 target = tile + static_cast<uint32>((row() + i * 32) * 128 + word() * 4);
            CKGEN_UNROLL
            for(int slot = 0; slot < 8; ++slot) {
                platform::async_copy_word(target + static_cast<uint32>(slot ^ lane_ % 8) * 16, from,
                                          slot * 4 + word() < left);
                from += 4 * pitch;
            }
        }
    }
    // As in WordRows.
    CKGEN_DEVICE void round(int tile) const {
        CKGEN_UNROLL
        for(int i = 0; i < 2 * count; ++i)
            round_words(thread_, tile + (warp_ + i / 2 * 4) * 1024 + i % 2 * 512 + lane_ * 16);
    }

private:
    const platform::Thread& thread_;
    const int lane_, warp_;
};

// The stages whose words are on their way: a warp of the load role copies a few stages, `most`, before it waits for the
// first. Two stages of the ring are left to the math role, which multiplies one before it releases the one before.
template <class D, int most = min_of(D::stages / 2, D::stages - 2)>
class WordStages {
public:
    CKGEN_DEVICE explicit WordStages(const TmaRing<D>& ring) : next_(ring) {}

    // The words of one more stage are on their way. `arrived` is called with a stage whose words are there.
    template <class Arrived>
    CKGEN_DEVICE void add(const platform::Thread& thread, const Arrived& arrived) {
        platform::async_commit();
        if(++count_ <= most)
            return;
        platform::async_wait<most>();
        pass(thread, arrived);
    }
    // Waits for all of them.
    template <class Arrived>
    CKGEN_DEVICE void finish(const platform::Thread& thread, const Arrived& arrived) {
        platform::async_wait<0>();
        while(count_ > 0)
            pass(thread, arrived);
    }

private:
    // Signals the oldest stage.
    template <class Arrived>
    CKGEN_DEVICE void pass(const platform::Thread& thread, const Arrived& arrived) {
        platform::sync_warp();  // all lanes have waited
        arrived(next_);
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
