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
    static constexpr int channels_at_once = 128 / ShiftedRows::slots;
    static constexpr int passes = ceil_div(D::k_per_block, channels_at_once);

    // A thread copies a slot of every channels_at_once-th output channel, for each block of 64 rows of the
    // product.
    struct Rows {
        int channel;                         // the first of a stage
        uint32 target;                       // byte of the stage
        const char* source[Base::blocks];    // of the output's channel 0, in the image that the slot belongs to
        int32 offset[passes][Base::blocks];  // from there to the slot: a channel's row begins anywhere in its first one
        uint32 copied = 0;                   // a bit for each of these slots that has positions of the image
        bool ends = false;                   // true if a slot may reach past the output's end

        CKGEN_DEVICE Rows(const platform::Thread& thread, const Args& args, const Tile& tile) {
            const auto& p = args.problem;
            const int slot = thread.thread_id() % ShiftedRows::slots;
            channel = thread.thread_id() / ShiftedRows::slots;
            if(channel == channels_at_once)
                channel = D::k_per_block;  // the last threads copy nothing
            target = static_cast<uint32>(channel * ShiftedRows::pitch + slot * 16);
            CKGEN_UNROLL
            for(int i = 0; i < Base::blocks; ++i) {
                const conv::PlaneBlock block(args.units, tile, tile.m_first + i * conv::PlaneBlock::rows);
                const bool second = block.split < conv::PlaneBlock::rows && slot >= block.split / 8;
                const int image = block.image + (second ? 1 : 0);
                const int slot_byte = (second ? slot - block.split / 8 : slot) * 16;
                const int bytes = 2 * (second ? block.second_positions(p) : block.first_positions(p));
                const int64 begin =
                    tile.group * p.out_group_bytes + image * p.out_image_bytes + (second ? 0 : block.position * 2);
                const int64 aligned = begin / 16 * 16;
                source[i] = p.out + aligned;
                CKGEN_UNROLL
                for(int j = 0; j < passes; ++j) {
                    const int row = channel + j * channels_at_once;
                    const int32 byte = static_cast<int32>(begin - aligned) + row * p.out_k_bytes;
                    offset[j][i] = byte / 16 * 16 + slot_byte;
                    if(bytes > 0 && slot_byte < byte % 16 + bytes)
                        copied |= 1u << (j * Base::blocks + i);
                }
                ends = ends || (image == p.images - 1 && tile.group == p.groups - 1 && args.out_bytes % 16 != 0);
            }
        }
    };

    static CKGEN_DEVICE const platform::TensorMap& first_map(const Args& args) { return args.wei; }
    // All threads of the load role take part; one of them is the leader.
    static CKGEN_DEVICE void copy_tile(bool leader, const Args& args, const TmaRing<D>& ring, const Tile& tile,
                                       const Rows& rows, const Step& step) {
        if(leader) {
            platform::mbarrier_expect(ring.full(), D::n_per_block * Base::elem_bytes * args.problem.tap_rows);
            Base::template copy_weight<D::k_per_block>(args, ring.data() + Base::blocks * ShiftedRows::block_bytes,
                                                       ring.full(), tile, step);
        }
        if(rows.ends)
            copy_rows<true>(args, ring, rows, step.channel);
        else
            copy_rows<false>(args, ring, rows, step.channel);
        platform::async_arrive(ring.full());
    }

private:
    // Slots without positions, and those of channels past the last, become zero. Tiles of GEMM-K have multiples of 16
    // channels, so that rows begin alike in each.
    template <bool Ends>
    static CKGEN_DEVICE void copy_rows(const Args& args, const TmaRing<D>& ring, const Rows& rows, int first) {
        const int64 on = first * int64{args.problem.out_k_bytes};
        const int channels = args.problem.k - first - rows.channel, tap_channels = args.problem.tap_rows - rows.channel;
        const uint32 to = ring.data() + rows.target;
        const char* const end = args.problem.out + args.out_bytes;
        CKGEN_UNROLL
        for(int j = 0; j < passes; ++j)
            if(j * channels_at_once < tap_channels) {
                CKGEN_UNROLL
                for(int i = 0; i < Base::blocks; ++i) {
                    const uint32 target = to + static_cast<uint32>(i * ShiftedRows::block_bytes +
                                                                   j * channels_at_once * ShiftedRows::pitch);
                    const char* const from = rows.source[i] + on + rows.offset[j][i];
                    const bool there =
                        (rows.copied >> (j * Base::blocks + i) & 1) != 0 && j * channels_at_once < channels;
                    if(Ends && there)
                        platform::async_copy_slot(target, from, end - from < 16 ? static_cast<int>(end - from) : 16,
                                                  ring.full());
                    else
                        platform::async_copy_or_clear(target, from, there, ring.full());
                }
            }
    }
};
// All threads by async_arrive(), the leader also by mbarrier_expect().
template <class D>
inline constexpr int load_arrivals<BwdDataTmaLoadRole<D, AnyPlanesBwdDataCopies<D>>> = 129;

template <class D>
struct AnyPlanesBwdDataView : BwdDataTmaView<D, AnyPlanesBwdDataArgs<D>, epilogue::WgmmaPlaneStore<D>> {
    static constexpr bool a_in_registers = true;  // threads read it from the stage
    static constexpr bool has_products = true;
    using Products = ShiftedProducts<D>;

    static CKGEN_DEVICE int steps(const AnyPlanesBwdDataArgs<D>& args) { return args.problem.tap_rows / 16; }
};

template <class D>
struct AnyPlanesBwdDataKernel : TmaRoles<D, AnyPlanesBwdDataView<D>, BwdDataTmaLoadRole<D, AnyPlanesBwdDataCopies<D>>>,
                                PlanesTmaBwdDataSizes<D> {};

}  // namespace ckgen::pipeline
