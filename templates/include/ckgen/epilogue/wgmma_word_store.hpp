// The epilogue of wgmma kernels of backward data whose results are words with neighbouring positions side by side, and
// whose rows are the positions of all images. Like epilogue/wgmma_plane_store.hpp, but a lane stores single words of
// one position, because rows of the tile begin anywhere and pass from one image to the next.
#pragma once

#include "ckgen/epilogue/plane_lines.hpp"

namespace ckgen::epilogue {

// Writes the results of one thread of the math role.
template <class D>
class WgmmaWordStore : public PlaneLines<D, WgmmaWordStore<D>> {
    using Base = PlaneLines<D, WgmmaWordStore<D>>;
    friend Base;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<1>;
    static_assert(sizeof(In) == 4, "results are words");

public:
    using Base::blocks_at_once, Base::line_columns, Base::most_lines;

    // `id` counts the threads that have the tile's rows; `lds` is the address of the warp's memory, beside that of the
    // other warps of the warpgroup.
    CKGEN_DEVICE WgmmaWordStore(const platform::Thread& thread, const Args& args, const conv::BwdDataUnits& units,
                                const Tile& tile, int id, int lds)
        : thread_(thread), args_(args), units_(units), id_(id % 128), lds_(lds - id_ / 32 * Base::lds_bytes),
          group_(tile.group), n_first_(tile.n_first), first_row_(tile.m_first + id / 128 * 64),
          columns_(min_of(args.n - tile.n_first, D::n_per_block)) {
        const InputPlace<1> own = place_of(id_ / 32 % 2 * 32 + id_ % 32);
        there_ = own.image < args.images;
        offset_ = there_ ? input_offset<D>(own, args.in) + id_ / 64 * args.in.channel : 0;
    }
    // `acc`: 4 floats, of the 8 columns from column 8 * block on.
    CKGEN_DEVICE void put_block(int block, const float* acc) const {
        CKGEN_UNROLL
        for(int i = 0; i < 4; ++i) {
            InputPlace<1> at = place_of(atom::PlaneRows::position(id_, i / 2));
            const int column = 8 * block + atom::WgmmaAccumulator::column(id_, i);
            at.channel += column;
            if(at.image < args_.images && column < columns_)
                write_fused<D>(thread_, args_, at, input_offset<D>(at, args_.in), {acc[i]});
        }
    }

private:
    // The position of the warpgroup's row at the tile's first channel; of an image past the last if there is none.
    CKGEN_DEVICE InputPlace<1> place_of(int row) const {
        const int image = units_.sub_gemms[0].by[0].quotient(first_row_ + row);
        return {group_, image, n_first_, {first_row_ + row - image * args_.positions}};
    }
    template <int Lines>
    CKGEN_DEVICE void put_lines(int first, const float* acc) const {
        constexpr int at_once = min_of(Lines, most_lines);
        const int barrier = thread_.uniform(thread_.thread_id() / 128);
        platform::barrier_of(barrier, 128);  // what the warpgroup put there before has been read
        PlaneWords::put<blocks_at_once * at_once>(thread_, lds_, id_, acc, [this](float sum) {
            const FusedInputs<1, Tuple<>, Tuple<>> none(thread_, args_.d, InputPlace<1>{});
            return Convert<In>::from(none.apply(args_.function, 0, sum));
        });
        platform::barrier_of(barrier, 128);
        store_words<at_once>(first);
        if constexpr(Lines > at_once)
            put_lines<Lines - at_once>(first + at_once, acc + line_columns / 2 * at_once);
    }
    // Two warps each store a half of the positions, of every second column.
    template <int Lines>
    CKGEN_DEVICE void store_words(int first) const {
        constexpr int at_once = 8;
        int column = line_columns * first + id_ / 64;
        In* target = reinterpret_cast<In*>(args_.target) + offset_ + line_columns * first * int64{args_.in.channel};
        CKGEN_UNROLL
        for(int i = 0; i < 16 * Lines; i += at_once) {
            In words[at_once];
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j)
                words[j] = thread_.template lds_load<In>(
                    lds_ + PlaneWords::offset((i + j) * 4 + id_ / 32, id_ % 32 / 4) + id_ % 4 * 4);
            CKGEN_UNROLL
            for(int j = 0; j < at_once; ++j) {
                if(there_ && column < columns_)
                    thread_.global_store(target, words[j]);
                column += 2;
                target += 2 * int64{args_.in.channel};
            }
        }
    }

    const platform::Thread& thread_;
    const Args& args_;
    const conv::BwdDataUnits& units_;
    int id_, lds_;  // of the thread, and of the warpgroup
    int32 group_, n_first_, first_row_;
    int32 columns_;  // channels of the input, from the tile's first on
    bool there_;     // true if the position that the thread stores exists
    int64 offset_;   // of that position at the first channel that the thread stores
};

}  // namespace ckgen::epilogue
