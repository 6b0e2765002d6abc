// Copied by ckgen from templates/include/ckgen/pipeline/xdl.hpp. Do not edit; run: ckgen generate
// Family xdl: every wave loads and multiplies. Global loads of the next tile are in flight while the current one is
// multiplied. One LDS stage needs two barriers per tile, two stages need one. An instance with a pipeline_version has
// one of the loops of xdl_pipelines.hpp.
#pragma once

#include "ckgen/block/wave_mma.hpp"
#include "ckgen/epilogue/cshuffle.hpp"
#include "ckgen/pipeline/xdl_pipelines.hpp"

namespace ckgen::pipeline {

// D: a checked Config with its derived values. Parts<D>: the operation's Args, Tile, Loader and Store, and
// without_product(), which handles tiles with empty GEMM-K.
template <class D, template <class> class Parts>
struct XdlKernel {
    using Args = typename Parts<D>::Args;
    using Tile = typename Parts<D>::Tile;
    using Loader = typename Parts<D>::Loader;
    using Layouts = typename Loader::Layouts;
    using Mma = block::WaveMma<D, typename Layouts::A, typename Layouts::B>;
    using Epilogue = epilogue::CShuffle<D, Parts<D>>;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static_assert(D::load_waves == 0, "in family xdl all waves load");

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const int id = thread.thread_id();
        const Tile tile = Parts<D>::tile(thread, args);
        if(Parts<D>::without_product(thread, args, tile))
            return;
        typename Mma::Acc acc;
        Mma::clear(acc);
        if(tile.k_tiles > 0)
            main_loop(args, thread, id, tile, acc);
        Epilogue::run(thread, id, args, tile, acc);
    }

private:
    static CKGEN_DEVICE void main_loop(const Args& args, const platform::Thread& thread, int id, const Tile& tile,
                                       typename Mma::Acc& acc) {
        const Mma mma(thread, id);
        Loader loader(thread, id, args, tile);
        if constexpr(D::pipeline_version > 0) {
            XdlPipeline<D, Loader, Mma>(thread, mma, loader, tile.k_tiles).run(acc);
            return;
        }
        typename Loader::Registers registers;
        loader.load(thread, registers);
        for(int t = 0; t < tile.k_tiles; ++t) {
            const int stage = D::stages == 1 ? 0 : t % D::stages;
            loader.store(thread, stage, registers);
            thread.barrier();
            if(t + 1 < tile.k_tiles)
                loader.load(thread, registers);
            mma.run(thread, stage * D::lds_stage_bytes, stage * D::lds_stage_bytes + Layouts::b_offset, acc);
            if constexpr(D::stages == 1)
                thread.barrier();
        }
    }
};

}  // namespace ckgen::pipeline
