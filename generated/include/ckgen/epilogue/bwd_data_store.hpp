// Copied by ckgen from templates/include/ckgen/epilogue/bwd_data_store.hpp. Do not edit; run: ckgen generate
// How lines of the tile become elements of the input gradient, or f32 partials of them.
#pragma once

#include "ckgen/conv/bwd_data_view.hpp"
#include "ckgen/epilogue/fused_output.hpp"

namespace ckgen::epilogue {

// Shape: a ShuffleShape.
template <class D, class Shape>
class BwdDataStore {
    static constexpr int ndim = D::kernel_ndim;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;

public:
    CKGEN_DEVICE BwdDataStore(int math_id, const Args& args, const Tile& tile)
        : math_id_(math_id), args_(args), tile_(tile) {}

    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass) const {
        CKGEN_UNROLL
        for(int round = 0; round < Shape::rounds; ++round) {
            const int index = round * D::block_size + math_id_;
            const int line = index / Shape::line_vectors;
            const int column = index % Shape::line_vectors * D::c_vector;
            const int row = tile_.m_first + Shape::row_of_line(pass, line);
            if((!Shape::whole_rounds && index >= Shape::vectors) || row >= tile_.rows ||
               tile_.n_first + column >= args_.n)
                continue;
            InputPlace<ndim> at;
            if(place(row, at)) {
                at.channel = tile_.n_first + column;
                write(thread, at, base + line * D::n_per_block * 4, column);
            }
        }
    }

private:
    // False for a position that another tile writes.
    CKGEN_DEVICE bool place(int row, InputPlace<ndim>& at) const {
        const conv::Walk<ndim + 1> index(tile_.count, row);
        at.group = tile_.group;
        at.image = index.at[0];
        bool tapped = true;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d) {
            at.position[d] = tile_.start[d] + tile_.step[d] * index.at[d + 1];
            if(tile_.tapless)
                tapped = tapped & (conv::class_of(args_, d, at.position[d]) >= 0);
        }
        return !tile_.tapless || !tapped;
    }

    CKGEN_DEVICE void write(const platform::Thread& thread, const InputPlace<ndim>& at, int line_base,
                            int column) const {
        float sums[D::c_vector];
        CKGEN_UNROLL
        for(int e = 0; e < D::c_vector; ++e)
            sums[e] = Shape::value(thread, line_base, column + e);
        if(args_.partial == nullptr) {
            write_fused<D>(thread, args_, at, sums);
            return;
        }
        int64 slice = args_.n * static_cast<int64>(args_.images) * args_.groups;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            slice *= args_.in_length[d];
        float* target = args_.partial + tile_.split * slice + partial_offset(args_, at);
        constexpr int width = min_of(D::c_vector, 4);
        CKGEN_UNROLL
        for(int first = 0; first < D::c_vector; first += width) {
            Vec<float, width> values;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e] = sums[first + e];
            thread.global_store(target + first, values);
        }
    }

    int math_id_;
    const Args& args_;
    const Tile& tile_;
};

}  // namespace ckgen::epilogue
