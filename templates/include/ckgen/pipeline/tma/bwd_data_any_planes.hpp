// Family wavelet_tma of backward data for pointwise filters and tensors with neighbouring positions side by side, whose
// images may have any number of positions. TMA copies boxes from multiples of 16 bytes only, so the threads of the load
// role copy the output row by row, in slots of 16 bytes, and the math role shifts it (shifted_products.hpp). The weight
// is loaded as in pipeline/tma/bwd_data_planes_tma.hpp. 16-bit types only.
#pragma once

#include "ckgen/epilogue/wgmma_plane_store.hpp"
#include "ckgen/pipeline/tma/bwd_data_planes_tma.hpp"
#include "ckgen/pipeline/tma/shifted_products.hpp"

namespace ckgen::pipeline {

template <class D>
struct AnyPlanesBwdDataArgs {
    platform::TensorMap wei;
    typename D::KernelArgs problem;
    conv::BwdDataUnits units;
    int64 out_bytes;  // to the end of the output
};

template <class D>
struct AnyPlanesBwdDataCopies : PlanesTmaBwdDataCopies<D, AnyPlanesBwdDataArgs<D>> {
    using Base = PlanesTmaBwdDataCopies<D, AnyPlanesBwdDataArgs<D>>;
    using typename Base::Args;
    using typename Base::Step;
    using typename Base::Tile;
    static_assert(Base::elem_bytes == 2, "a slot has 8 positions");
    static constexpr int rows_at_once = 128 / ShiftedRows::slots;

    // What a thread copies: a slot of every rows_at_once-th output channel, for each block of 64 rows of the product.
    struct Rows {
        // The image's row that the slot belongs to: its first byte in channel 0, its bytes, and the first byte of the
        // slot, if the row began at the first byte of a slot.
        struct Run {
            int64 begin;
            int bytes, slot_byte;
        };
        Run runs[Base::blocks];
        int slot, row;  // the slot's number among those of a channel, and the first channel of a stage

        CKGEN_DEVICE Rows(const platform::Thread& thread, const Args& args, const Tile& tile)
            : slot(thread.thread_id() % ShiftedRows::slots), row(thread.thread_id() / ShiftedRows::slots) {
            CKGEN_UNROLL
            for(int i = 0; i < Base::blocks; ++i) {
                const conv::PlaneBlock block(args.units, tile, tile.m_first + i * conv::PlaneBlock::rows);
                const bool second = block.split < conv::PlaneBlock::rows && slot >= block.split / 8;
                runs[i].begin = tile.group * args.problem.out_group_bytes +
                                (block.image + (second ? 1 : 0)) * args.problem.out_image_bytes +
                                (second ? 0 : block.position * 2);
                runs[i].bytes = 2 * (second ? block.second_positions(args.problem) : block.first_positions(args.problem));
                runs[i].slot_byte = (second ? slot - block.split / 8 : slot) * 16;
            }
        }
    };

    static CKGEN_DEVICE const platform::TensorMap& first_map(const Args& args) { return args.wei; }
    // All threads of the load role take part; one of them is the leader.
    static CKGEN_DEVICE void copy_tile(bool leader, const Args& args, const TmaRing<D>& ring, const Tile& tile,
                                       const Rows& rows, const Step& step) {
        if(leader) {
            platform::mbarrier_expect(ring.full(), D::n_per_block * Base::elem_bytes * args.problem.tap_rows);
            Base::template copy_weight<D::k_per_block>(
                args, ring.data() + Base::blocks * ShiftedRows::block_bytes, ring.full(), tile, step);
        }
        const int channels = min_of(args.problem.tap_rows, args.problem.k - step.channel);
        const int64 channel_bytes = args.problem.out_k_bytes;
        int64 begin = (step.channel + rows.row) * channel_bytes;
        uint32 to = ring.data() + static_cast<uint32>(rows.row * ShiftedRows::pitch + rows.slot * 16);
        for(int row = rows.row; row < channels && rows.row < rows_at_once; row += rows_at_once) {
            CKGEN_UNROLL
            for(int i = 0; i < Base::blocks; ++i) {
                const int64 byte = begin + rows.runs[i].begin;
                const int into = static_cast<int>(byte) & 15;
                const int64 from = byte - into + rows.runs[i].slot_byte;
                if(rows.runs[i].slot_byte < into + rows.runs[i].bytes && rows.runs[i].bytes > 0)
                    platform::async_copy_slot(to + static_cast<uint32>(i * ShiftedRows::block_bytes),
                                              args.problem.out + from,
                                              static_cast<int>(min_of(args.out_bytes - from, int64{16})), ring.full());
            }
            begin += rows_at_once * channel_bytes;
            to += rows_at_once * ShiftedRows::pitch;
        }
        platform::async_arrive(ring.full());
    }
};
template <class D>
inline constexpr bool loads_by_warpgroup<BwdDataTmaLoadRole<D, AnyPlanesBwdDataCopies<D>>> = true;

template <class D>
struct AnyPlanesBwdDataView : BwdDataTmaView<D, AnyPlanesBwdDataArgs<D>, epilogue::WgmmaPlaneStore<D>> {
    static constexpr bool a_in_registers = true;  // threads read it from the stage
    static constexpr bool has_products = true;
    using Products = ShiftedProducts<D>;

    static CKGEN_DEVICE int steps(const AnyPlanesBwdDataArgs<D>& args) { return args.problem.tap_rows / 16; }
};

template <class D>
struct AnyPlanesBwdDataKernel
    : TmaRoles<D, AnyPlanesBwdDataView<D>, BwdDataTmaLoadRole<D, AnyPlanesBwdDataCopies<D>>>,
      PlanesTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
