// Copied by ckgen from templates/include/ckgen/pipeline/halo/halo_wgmma.hpp. Do not edit; run: ckgen generate
// Family halo on wgmma: backward weight of 3x3 filters of stride 1 with few output channels. A workgroup has 64
// channels of the input and all nine taps. The load role, one thread, copies strips of the image into stages of shared
// memory (conv/halo_strips.hpp). In the math role each warpgroup computes one row of the filter and reads both operands
// as the copies wrote them. One matrix instruction computes the three taps of the row: they read the same output rows,
// each a constant number of positions further. In the descriptor this is the distance from one block of columns to the
// next.
//   A[c][position] = In     B[position][tap, k] = dOut of the position under the tap     D[c][tap, k] = dWei
// An infinity or NaN in the input or the output may make NaN of more taps than those that it belongs to: where one
// operand has no position, its zeros are multiplied with the value of the other.
#pragma once

#include "ckgen/atom/swizzled_tile.hpp"
#include "ckgen/atom/wgmma.hpp"
#include "ckgen/conv/halo_strips.hpp"
#include "ckgen/epilogue/fused_weight.hpp"
#include "ckgen/load/bwd_weight_view.hpp"
#include "ckgen/pipeline/stage_ring.hpp"

namespace ckgen::pipeline {

template <class D>
struct HaloWgmmaArgs {
    platform::TensorMap in, out, rest;  // boxes of a strip's rows; see HaloFamily
    typename D::KernelArgs problem;     // k_tiles counts strips
    conv::HaloStrips strips;
};

template <class D>
struct HaloWgmmaKernel {
    using Args = HaloWgmmaArgs<D>;
    using T = typename D::Out;
    using Wei = typename D::Wei;
    static constexpr int launch_threads = D::launch_threads;
    static constexpr int lds_bytes = D::lds_bytes;
    static constexpr bool waits_for_previous = true;
    static constexpr int in_channels = 64;
    // A stage has the output's channels in rows of 64 or 32; a remainder of 8 has rows of its own.
    static constexpr int out_channels = D::m_per_block < 64 ? 32 : 64;
    static constexpr int rest_channels = D::m_per_block - out_channels;
    static constexpr int out_pitch = D::m_per_block * 2;
    static constexpr int load_threads = 128;
    static constexpr int side = conv::kHaloTaps;
    static constexpr conv::StripLimits limits{out_pitch, D::stages, D::lds_bytes, out_channels == 32};
    static constexpr bool moves_registers = D::acc_registers > 80;

    // True if the output's rows pass through the buffer.
    static CKGEN_DEVICE bool buffered(const conv::HaloStrips& g) { return limits.buffers && g.buffer_bytes > 0; }

    // In order of addresses: the stages, the buffer of output rows, its barrier, the barriers of the stages. A stage
    // has the input rows, the output rows and the remaining output channels.
    struct Ring : StageRing {
        uint32 buffer_bytes, out_offset, rest_offset;

        CKGEN_DEVICE Ring(const conv::HaloStrips& g, uint32 start)
            : StageRing(start, g.stage_bytes, g.stages,
                        start + bytes(g.stages * g.stage_bytes) + bytes(g.buffer_bytes) + 16),
              buffer_bytes(bytes(g.buffer_bytes)), out_offset(bytes(g.in_positions * conv::kStripInPitch)),
              rest_offset(out_offset + bytes(g.out_positions * out_channels * 2)) {}
        CKGEN_DEVICE uint32 in() const { return data(); }
        CKGEN_DEVICE uint32 out() const { return in() + out_offset; }
        CKGEN_DEVICE uint32 rest() const { return in() + rest_offset; }
        CKGEN_DEVICE uint32 buffer() const { return base + bytes(stages * stage_bytes); }
        CKGEN_DEVICE uint32 buffered() const { return buffer() + buffer_bytes; }
        static CKGEN_DEVICE uint32 bytes(int count) { return static_cast<uint32>(count); }
    };

    // Iterates over the strips of all images.
    struct Walk {
        int image, strip;

        CKGEN_DEVICE Walk(const conv::HaloStrips& g, int index)
            : image(index / g.per_image), strip(index - image * g.per_image) {}
        CKGEN_DEVICE void next(const conv::HaloStrips& g) {
            if(++strip == g.per_image)
                strip = 0, ++image;
        }
    };

    // One thread issues the copies. Output rows that pass through the buffer are loaded one strip ahead, and the whole
    // warpgroup moves them to their places.
    struct LoadRole {
        static CKGEN_DEVICE void run(const Args& args, Ring ring, const conv::BwdWeightTile& tile, int id) {
            const conv::HaloStrips& g = args.strips;
            const Boxes boxes(args, tile);
            const bool by_buffer = buffered(g);
            const OutRows rows(args, ring, boxes.out_rows, boxes.out_column, id);
            Walk walk(g, tile.k_tile_first);
            if(by_buffer && tile.k_tiles > 0)
                rows.fetch(walk);
            for(int i = 0; i < tile.k_tiles; ++i, ring.next()) {
                platform::mbarrier_wait(ring.empty(), ring.parity ^ 1);
                if(id == 0)
                    boxes.copy(args, ring, walk);
                if(by_buffer) {
                    platform::mbarrier_wait(ring.buffered(), i % 2);
                    rows.place(ring, walk);
                    platform::fence_proxy_async();
                    platform::barrier_of(1, load_threads);  // the buffer is free
                    if(id == 0)
                        platform::mbarrier_arrive(ring.full());
                }
                walk.next(g);
                if(by_buffer && i + 1 < tile.k_tiles)
                    rows.fetch(walk);
            }
            platform::pdl_launch_dependents();  // not earlier: the next kernel would crowd on the idle multiprocessors
        }
    };

    // The TMA loads of one strip to a stage.
    struct Boxes {
        int in_channel, out_channel;
        int out_rows, out_column, rows_back;  // rows_back: how many rows an output row is before the input's
        int bytes;

        CKGEN_DEVICE Boxes(const Args& args, const conv::BwdWeightTile& tile) {
            const conv::BwdWeightArgs& p = args.problem;
            const conv::HaloStrips& g = args.strips;
            in_channel = tile.group * static_cast<int>(p.in_group_bytes / 2) + tile.n_first;
            out_channel = tile.group * static_cast<int>(p.out_group_bytes / 2) + tile.m_first;
            out_rows = g.rows + (side - 1) * p.dilation[0];
            out_column = p.pad[1] - (side - 1) * p.dilation[1];
            rows_back = (side - 1) * p.dilation[0] - p.pad[0];
            bytes = g.plane * (g.rows * conv::kStripInPitch + (buffered(g) ? 0 : out_rows * out_pitch));
        }

        CKGEN_DEVICE void copy(const Args& args, const Ring& ring, const Walk& walk) const {
            const int row = walk.strip * args.strips.rows;
            const uint32 full = ring.full();
            platform::mbarrier_expect(full, bytes);
            platform::tma_load_nd(ring.in(), args.in, full, in_channel, 0, row, walk.image);
            if(buffered(args.strips))
                return;
            copy_out(ring.out(), args.out, full, out_channel, row, walk.image);
            if constexpr(rest_channels > 0)
                copy_out(ring.rest(), args.rest, full, out_channel + out_channels, row, walk.image);
        }

    private:
        CKGEN_DEVICE void copy_out(uint32 target, const platform::TensorMap& map, uint32 full, int channel, int row,
                                   int image) const {
            platform::tma_load_nd(target, map, full, channel, out_column, row - rows_back, image);
        }
    };

    // The output rows of a strip that pass through the buffer. They are packed there as in global memory, in units of 8
    // bytes.
    class OutRows {
    public:
        CKGEN_DEVICE OutRows(const Args& args, const Ring& ring, int rows, int column, int id)
            : p_(args.problem), buffer_(ring.buffer()), buffered_(ring.buffered()), strip_rows_(args.strips.rows),
              plane_(args.strips.plane), rows_(rows), column_(column), id_(id),
              image_bytes_(static_cast<int64>(p_.out_length[0]) * p_.out_length[1] * p_.out_row_bytes) {}

        // Starts the copy to the buffer. A copy is a multiple of 16 bytes; 8 bytes may remain at the very end of the
        // tensor.
        CKGEN_DEVICE void fetch(const Walk& walk) const {
            if(id_ != 0)
                return;
            const Part part(*this, walk);
            const int64 all = image_bytes_ * (p_.k / (p_.out_length[0] * p_.out_length[1]));
            const int64 end = min_of((part.end + 15) / 16 * 16, all / 16 * 16);
            const int bytes = part.end > part.begin ? static_cast<int>(end - part.begin / 16 * 16) : 0;
            if(part.end > end && part.end > part.begin)
                platform::lds_store_8_bytes(buffer_ + Ring::bytes(bytes),
                                            *reinterpret_cast<const Vec<uint32, 2>*>(p_.out + end));
            platform::mbarrier_expect(buffered_, bytes);
            if(bytes > 0)
                platform::bulk_load(buffer_, p_.out + part.begin / 16 * 16, bytes, buffered_);
        }

        // Moves rows from the buffer to the stage: in the swizzle of a box of out_channels, then the remaining
        // channels. A thread moves whole positions, which takes few instructions and has no bank conflicts. Rows
        // outside the image become zero; columns outside are zero from the start.
        CKGEN_DEVICE void place(const Ring& ring, const Walk& walk) const {
            const Part part(*this, walk);
            const int columns = p_.out_length[1];
            const int pitch = p_.out_row_bytes;
            const int rows_on = load_threads / columns;
            const int columns_on = load_threads - rows_on * columns;
            int row = id_ / columns;
            int column = id_ - row * columns;
            const int begin = static_cast<int>(part.begin % 16) - part.first * columns * pitch;
            uint32 source = buffer_ + Ring::bytes(begin + id_ * pitch);
            for(; row < rows_; source += Ring::bytes(load_threads * pitch)) {
                const bool inside = row >= part.first && row < part.last;
                Vec<uint32, 2> values[2 * units];
                CKGEN_UNROLL
                for(int i = 0; i < 2 * units; ++i)
                    values[i] = inside && i * 8 < pitch ? platform::lds_load_8_bytes(source + i * 8) : Vec<uint32, 2>{};
                const int line = row * plane_ + column - column_;
                if(column >= column_) {
                    CKGEN_UNROLL
                    for(int i = 0; i < units; ++i)
                        platform::lds_store_16_bytes(target(ring, line, i), values[2 * i], values[2 * i + 1]);
                }
                const bool carry = column + columns_on >= columns;
                column += carry ? columns_on - columns : columns_on;
                row += carry ? rows_on + 1 : rows_on;
            }
        }

    private:
        static constexpr int units = D::m_per_block / 8;  // of 16 bytes

        // The rows of a strip that exist, `first` to `last` - 1, and their place in the output, in bytes.
        struct Part {
            int first, last;
            int64 begin, end;

            CKGEN_DEVICE Part(const OutRows& o, const Walk& walk) {
                const int row = walk.strip * o.strip_rows_ + o.p_.pad[0] - (side - 1) * o.p_.dilation[0];
                const int left = o.p_.out_length[0] - row;
                last = max_of(0, min_of(o.rows_, left));
                first = min_of(max_of(0, -row), last);
                const int64 row_bytes = static_cast<int64>(o.p_.out_length[1]) * o.p_.out_row_bytes;
                begin = walk.image * o.image_bytes_ + (row + first) * row_bytes;
                end = begin + (last - first) * row_bytes;
            }
        };

        // Address of 16 bytes of a position. Only for rows of 64 bytes (limits.buffers), of which two share a pattern
        // of the swizzle.
        static CKGEN_DEVICE uint32 target(const Ring& ring, int line, int unit) {
            return unit * 8 < out_channels ? ring.out() + Ring::bytes(atom::SwizzledRows<T, 32>::offset(line, unit))
                                           : ring.rest() + Ring::bytes(line * 16);
        }

        const conv::BwdWeightArgs& p_;
        const uint32 buffer_, buffered_;
        const int strip_rows_, plane_, rows_, column_, id_;
        const int64 image_bytes_;
    };

    class MathRole {
    public:
        // `row` of the filter; `id` counts the threads of the warpgroup.
        CKGEN_DEVICE MathRole(const Args& args, int row, int id) : args_(args), row_(row), id_(id) {
            CKGEN_UNROLL
            for(int i = 0; i < out_registers; ++i)
                out_[i] = 0.f;
            CKGEN_UNROLL
            for(int i = 0; i < rest_registers; ++i)
                rest_[i] = 0.f;
        }

        CKGEN_DEVICE void run(const platform::Thread& thread, Ring ring, const conv::BwdWeightTile& tile) {
            const conv::BwdWeightArgs& p = args_.problem;
            const conv::HaloStrips& g = args_.strips;
            // Tap 2 of the row is the first block of columns.
            const auto shift = Ring::bytes((side - 1 - row_) * p.dilation[0] * g.plane);
            const auto apart = Ring::bytes(p.dilation[1]);
            Walk walk(g, tile.k_tile_first);
            uint32 previous = 0;  // the empty barrier of the stage whose products may still run
            for(int i = 0; i < tile.k_tiles; ++i, walk.next(g), ring.next()) {
                const int steps = conv::strip_steps(g, p.in_length[0], walk.strip);
                uint64 in = atom::wgmma_descriptor(ring.in(), 0);
                uint64 out = atom::wgmma_descriptor<out_channels>(ring.out() + shift * out_channels * 2,
                                                                  apart * out_channels * 2);
                uint64 rest = atom::wgmma_descriptor<8>(ring.rest() + shift * 16, apart * 16);
                platform::mbarrier_wait(ring.full(), ring.parity);
                for(int step = 0; step < steps; ++step) {
                    atom::wgmma_fence();
                    multiply(in, out, rest);
                    atom::wgmma_commit();
                    atom::wgmma_wait<1>();  // all but the step just begun
                    if(step == 0 && previous != 0 && id_ == 0)
                        platform::mbarrier_arrive(previous);
                }
                previous = ring.empty();
            }
            atom::wgmma_wait<0>();
            atom::wgmma_done(out_);
            atom::wgmma_done(rest_);
            const int64 first = (static_cast<int64>(tile.split) * p.groups + tile.group) * p.wei_group_elements;
            if(p.partial != nullptr)
                write<false>(thread, tile, p.partial + first);
            else
                write<D::fused>(thread, tile, reinterpret_cast<Wei*>(p.wei) + tile.group * p.wei_group_elements);
        }

    private:
        static constexpr int out_registers = side * out_channels / 2;
        static constexpr int rest_registers = side * rest_channels / 2;

        // Multiplies the next 16 positions and advances the descriptors.
        CKGEN_DEVICE void multiply(uint64& in, uint64& out, uint64& rest) {
            constexpr uint64 unit = 16;  // bytes per unit of a descriptor
            atom::wgmma<T, side * out_channels>(out_, in, out);
            if constexpr(rest_channels > 0)
                atom::wgmma<T, side * rest_channels>(rest_, in, rest);
            in += conv::kStripStep * conv::kStripInPitch / unit;
            out += conv::kStripStep * out_channels * 2 / unit;
            rest += conv::kStripStep * 16 / unit;
        }

        // Neighbouring lanes have neighbouring channels: a warp stores 8 of them for each of 4 outputs.
        template <bool Fused, class Target>
        CKGEN_DEVICE void write(const platform::Thread& thread, const conv::BwdWeightTile& tile, Target* target) const {
            const conv::BwdWeightArgs& p = args_.problem;
            const int c = tile.n_first + atom::WgmmaAccumulator::row(id_, 0);
            const int k = tile.m_first + atom::WgmmaAccumulator::column(id_, 0);
            target += static_cast<int64>(k) * p.n + row_ * side * p.c + c;
            write_taps<out_channels, Fused>(thread, tile.group, target, out_, k, c);
            if constexpr(rest_channels > 0)
                write_taps<rest_channels, Fused>(thread, tile.group, target + out_channels * static_cast<int64>(p.n),
                                                 rest_, k + out_channels, c);
        }

        template <int Channels, bool Fused, class Target>
        CKGEN_DEVICE void write_taps(const platform::Thread& thread, int group, Target* target, const float* products,
                                     int k, int c) const {
            const typename D::KernelArgs& p = args_.problem;
            CKGEN_UNROLL
            for(int i = 0; i < side * Channels / 2; ++i) {
                const int column = atom::WgmmaAccumulator::column(0, i);
                const int channel = atom::WgmmaAccumulator::row(0, i);
                const int tap = side - 1 - column / Channels;
                if(k + column % Channels >= p.m || c + channel >= p.c)
                    continue;
                Target* const place = target + (static_cast<int64>(column % Channels) * p.n + tap * p.c + channel);
                if constexpr(Fused) {
                    const epilogue::WeightPlace<2> at(p, group, k + column % Channels, row_ * side + tap, c + channel);
                    const epilogue::FusedInputsOf<D, 1> inputs(thread, p.d, at);
                    epilogue::write_fused<D>(thread, p.function, inputs, place, {products[i]});
                } else {
                    *place = Convert<Target>::from(products[i]);
                }
            }
        }

        const Args& args_;
        const int row_, id_;
        float out_[out_registers];
        float rest_[rest_registers > 0 ? rest_registers : 1];
    };

    static CKGEN_DEVICE void run(const Args& args, platform::Thread& thread) {
        const uint32 start = platform::lds_start();
        const Ring ring{args.strips,
                        (start + conv::kStripAlignment - 1) / conv::kStripAlignment * conv::kStripAlignment};
        const auto tile = conv::BwdWeightTile::of_block<D>(args.problem, thread.block_id());
        const int id = thread.thread_id();
        // Bytes that no TMA load writes are multiplied by zeros, so they must not be NaN.
        for(int i = id; i < args.strips.stages * args.strips.stage_bytes / 16; i += launch_threads)
            thread.lds_store(static_cast<int>(ring.base - start) + i * 16, Vec<uint32, 4>{});
        if(id == 0) {
            ring.init(buffered(args.strips) ? 2 : 1, side);
            platform::mbarrier_init(ring.buffered(), 1);
            platform::fence_mbarrier_init();
        }
        platform::fence_proxy_async();
        thread.barrier();
        platform::pdl_wait();
        if(id < load_threads) {
            if constexpr(moves_registers)
                platform::setmaxnreg_dec<56>();
            if(buffered(args.strips) || id == 0)
                LoadRole::run(args, ring, tile, id);
        } else {
            if constexpr(moves_registers)
                platform::setmaxnreg_inc<152>();
            MathRole(args, id / load_threads - 1, id % load_threads).run(thread, ring, tile);
        }
    }
};

}  // namespace ckgen::pipeline
