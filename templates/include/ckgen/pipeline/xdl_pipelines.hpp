// The loops of family xdl that CK calls pipelines; they differ in the data that is on its way to the multiplication:
//
//     version  tiles in registers (D::prefetch_tiles)        LDS buffers  operands of a tile read ahead  barriers per
//     tile v1       1                                             1            no                             2 v2 2 to
//     8, for 32 KiB in flight on a unit        1            no                             2 v3       1 1 yes 2 v4 1 2
//     yes                            1 v5       2                                             1            yes 2
//
// Reading ahead means that a tile is multiplied from registers while the next one is written to LDS. Atoms that read
// their operands one by one multiply from LDS in all versions.
#pragma once

#include "ckgen/block/wave_mma.hpp"

namespace ckgen::pipeline {

// Loader, Mma: as in XdlKernel.
template <class D, class Loader, class Mma>
class XdlPipeline {
    static constexpr int held = D::prefetch_tiles;
    static constexpr int stages = D::stages;
    static constexpr int period = held * stages;  // tiles after which slots and buffers repeat
    static constexpr bool ahead = D::pipeline_version >= 3 && Mma::Atom::reads_ahead;
    using Acc = typename Mma::Acc;
    using Registers = typename Loader::Registers;

    const platform::Thread& thread_;
    const Mma& mma_;
    Loader& loader_;
    int tiles_;
    Registers registers_[held];

public:
    CKGEN_DEVICE XdlPipeline(const platform::Thread& thread, const Mma& mma, Loader& loader, int tiles)
        : thread_(thread), mma_(mma), loader_(loader), tiles_(tiles) {
        CKGEN_UNROLL
        for(int slot = 0; slot < held; ++slot)
            if(slot < tiles)
                loader.load(thread, registers_[slot]);
    }

    CKGEN_DEVICE void run(Acc& acc) {
        if constexpr(ahead)
            run_ahead<typename Mma::TA>(acc);
        else
            run_from_lds(acc);
    }

private:
    static CKGEN_HD constexpr int a_base(int stage) { return stage * D::lds_stage_bytes; }
    static CKGEN_HD constexpr int b_base(int stage) { return a_base(stage) + Loader::Layouts::b_offset; }

    // Tile `tile` goes to LDS; then the tile that is `held` later is loaded to the same registers. Hot: that tile
    // exists.
    template <bool Hot>
    CKGEN_DEVICE void pass_on(int tile, int slot, int stage) {
        loader_.store(thread_, stage, registers_[slot]);
        if(Hot || tile + held < tiles_)
            loader_.load(thread_, registers_[slot]);
    }

    CKGEN_DEVICE void run_from_lds(Acc& acc) {
        int first = 0;
        for(; first + period + held <= tiles_; first += period)
            CKGEN_UNROLL
        for(int i = 0; i < period; ++i)
            tile_from_lds<true>(first + i, i, acc);
        for(; first < tiles_; first += period)
            CKGEN_UNROLL
        for(int i = 0; i < period; ++i)
            if(first + i < tiles_)
                tile_from_lds<false>(first + i, i, acc);
    }
    template <bool Hot>
    CKGEN_DEVICE void tile_from_lds(int tile, int i, Acc& acc) {
        const int stage = i % stages;
        loader_.store(thread_, stage, registers_[i % held]);
        thread_.barrier();
        if(Hot || tile + held < tiles_)
            loader_.load(thread_, registers_[i % held]);
        if constexpr(D::interwave)
            mma_.run_in_turns(thread_, a_base(stage), b_base(stage), acc);
        else
            mma_.run(thread_, a_base(stage), b_base(stage), acc);
        if constexpr(stages == 1)
            thread_.barrier();
    }

    template <class Element>
    CKGEN_DEVICE void run_ahead(Acc& acc) {
        typename Mma::template Fragments<Element> fragments;
        pass_on<false>(0, 0, 0);
        thread_.barrier();
        mma_.read(thread_, a_base(0), b_base(0), fragments);
        int first = 0;
        for(; first + period + held < tiles_; first += period)
            CKGEN_UNROLL
        for(int i = 0; i < period; ++i)
            tile_ahead<true>(first + i, i, fragments, acc);
        for(; first < tiles_; first += period)
            CKGEN_UNROLL
        for(int i = 0; i < period; ++i)
            if(first + i < tiles_)
                tile_ahead<false>(first + i, i, fragments, acc);
    }
    // Multiplies a tile from registers; meanwhile the next one is written to LDS.
    template <bool Hot, class Fragments>
    CKGEN_DEVICE void tile_ahead(int tile, int i, Fragments& fragments, Acc& acc) {
        const int slot = (i + 1) % held;
        const int stage = (i + 1) % stages;
        const bool more = Hot || tile + 1 < tiles_;
        if(more) {
            if constexpr(stages == 1)
                thread_.barrier();  // all waves have read this tile
            pass_on<Hot>(tile + 1, slot, stage);
        }
        mma_.multiply(thread_, fragments, acc);
        if(more) {
            thread_.barrier();
            mma_.read(thread_, a_base(stage), b_base(stage), fragments);
        }
    }
};

}  // namespace ckgen::pipeline
