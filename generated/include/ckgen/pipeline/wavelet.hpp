// Copied by ckgen from templates/include/ckgen/pipeline/wavelet.hpp. Do not edit; run: ckgen generate
// Family wavelet: the first load_waves waves only copy to LDS, the other math_waves only multiply. LDS is a ring of
// `stages` tiles in two halves: while the math waves multiply one half, the load waves fill the other, and a barrier
// swaps them. Each loop iteration of a role covers the whole ring, so that every LDS address is a constant register
// plus an immediate.
#pragma once

#include "ckgen/block/wave_mma.hpp"
#include "ckgen/epilogue/cshuffle.hpp"

namespace ckgen::pipeline {

// D: a checked Config with its derived values. Parts<D>: the operation's Args, Tile, Loader and Store, and
// without_product(), which handles tiles with empty GEMM-K.
template <class D, template <class> class Parts>
struct WaveletKernel {
    using Args = typename Parts<D>::Args;
    using Tile = typename Parts<D>::Tile;
    using Loader = typename Parts<D>::Loader;
    using Layouts = typename Loader::Layouts;
    using Mma = block::WaveMma<D, typename Layouts::A, typename Layouts::B>;
    using Epilogue = epilogue::CShuffle<D, Parts<D>>;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr int tiles_per_half = D::stages / 2;
    static_assert(D::load_waves > 0 && D::stages % 2 == 0, "a load role, and a ring of two halves");

    // Halves of the ring that GEMM-K fills. Tiles past the end read as zeros.
    static CKGEN_DEVICE int halves(const Tile& tile) { return (tile.k_tiles + tiles_per_half - 1) / tiles_per_half; }

    // Global loads are `ahead` halves ahead of their LDS writes. With two halves a load wave needs more registers; they
    // are available where the accumulators of the math waves determine the kernel's registers. With one half the load
    // wave waits just before the barrier for the loads that it issued last.
    struct LoadRole {
        static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread, int id, const Tile& tile) {
            const int count = halves(tile);
            if(count > 0) {
                Loader loader(thread, id, args, tile);
                if constexpr(Loader::direct)
                    copy(thread, loader, count);
                else
                    pass_on(thread, loader, count);
            }
            Epilogue::accompany(thread);
        }

    private:
        static constexpr int ahead = platform::kLoadedHalves;
        static_assert(ahead == 1 || ahead == 2, "a set of registers for each half of the ring, or one for both");
        struct Half {
            typename Loader::Registers tiles[tiles_per_half];
        };

        static CKGEN_DEVICE void pass_on(const platform::Thread& thread, Loader& loader, int count) {
            Half loaded[ahead];
            load(thread, loader, loaded[0]);
            if(ahead > 1 && count > 1)
                load(thread, loader, loaded[ahead - 1]);
            for(int half = 0; half < count; half += 2) {
                fill<0>(thread, loader, loaded[0], half + ahead < count);
                if(half + 1 < count)
                    fill<1>(thread, loader, loaded[ahead - 1], half + 1 + ahead < count);
            }
        }
        // Writes the loaded tiles to a half of the ring and starts the loads of the next ones into the same registers.
        template <int Which>
        static CKGEN_DEVICE void fill(const platform::Thread& thread, Loader& loader, Half& half, bool more) {
            CKGEN_UNROLL
            for(int i = 0; i < tiles_per_half; ++i)
                loader.store(thread, Which * tiles_per_half + i, half.tiles[i]);
            if(more)
                load(thread, loader, half);
            thread.barrier();
        }
        static CKGEN_DEVICE void load(const platform::Thread& thread, Loader& loader, Half& half) {
            CKGEN_UNROLL
            for(int i = 0; i < tiles_per_half; ++i)
                loader.load(thread, half.tiles[i]);
        }

        // Direct-to-LDS loads: a half is loaded while the math waves multiply the other half.
        static CKGEN_DEVICE void copy(const platform::Thread& thread, Loader& loader, int count) {
            for(int half = 0; half < count; half += 2) {
                copy_half<0>(thread, loader);
                if(half + 1 < count)
                    copy_half<1>(thread, loader);
            }
        }
        template <int Which>
        static CKGEN_DEVICE void copy_half(const platform::Thread& thread, Loader& loader) {
            CKGEN_UNROLL
            for(int i = 0; i < tiles_per_half; ++i)
                loader.load_to(thread, Which * tiles_per_half + i);
            thread.await_loads();
            thread.barrier();
        }
    };

    struct MathRole {
        static CKGEN_DEVICE void run(const Args& args, const platform::Thread& thread, int id, const Tile& tile) {
            typename Mma::Acc acc;
            Mma::clear(acc);
            const Mma mma(thread, id);
            const int count = halves(tile);
            for(int half = 0; half < count; half += 2) {
                multiply<0>(thread, mma, acc);
                if(half + 1 < count)
                    multiply<1>(thread, mma, acc);
            }
            Epilogue::run(thread, id, args, tile, acc);
        }

    private:
        template <int Half>
        static CKGEN_DEVICE void multiply(const platform::Thread& thread, const Mma& mma, typename Mma::Acc& acc) {
            thread.barrier();
            thread.schedule_boundary();
            CKGEN_UNROLL
            for(int i = 0; i < tiles_per_half; ++i) {
                constexpr int base = Half * tiles_per_half * D::lds_stage_bytes;
                mma.run(thread, base + i * D::lds_stage_bytes, base + i * D::lds_stage_bytes + Layouts::b_offset, acc);
            }
            Mma::template order<tiles_per_half>(thread);
        }
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const int id = thread.thread_id();
        const Tile tile = Parts<D>::tile(thread, args);
        if(Parts<D>::without_product(thread, args, tile))
            return;
        if(thread.uniform(id) < D::copy_threads)
            LoadRole::run(args, thread, id, tile);
        else
            MathRole::run(args, thread, id - D::copy_threads, tile);
    }
};

}  // namespace ckgen::pipeline
