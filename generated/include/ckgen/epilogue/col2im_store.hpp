// Copied by ckgen from templates/include/ckgen/epilogue/col2im_store.hpp. Do not edit; run: ckgen generate
// The epilogue of family col2im: all math threads put the product of a tile (conv/col2im.hpp) into LDS and add its
// columns to elements of the input. Elements of a cell's first positions need the product's rows before the cell, so
// neighbouring tiles share `row_overlap` rows: a tile writes the cells after them. A thread adds and writes c_vector
// neighbouring channels at once.
#pragma once

#include "ckgen/atom/wgmma.hpp"
#include "ckgen/conv/col2im.hpp"
#include "ckgen/epilogue/bwd_data_store.hpp"
#include "ckgen/platform/tma.hpp"

namespace ckgen::epilogue {

template <class D>
class Col2imStore {
    static constexpr int ndim = D::kernel_ndim;
    using In = typename D::In;
    using Args = typename D::KernelArgs;
    using Tile = conv::BwdDataTile<ndim>;
    static constexpr int width = D::c_vector;
    static constexpr int pitch = D::sums_pitch;                    // floats from one row of the product to the next
    static constexpr int cells_byte = D::m_per_block * pitch * 4;  // the cells of the rows, after the product
    static_assert(cells_byte + D::m_per_block * 16 == D::lds_sums_bytes && ndim <= 3, "a cell has 16 bytes");

public:
    static constexpr int blocks_at_once = D::n_per_block / 8;  // a tile is stored at once

    // `id` counts the math threads; `lds` is the address of their memory.
    CKGEN_DEVICE Col2imStore(const platform::Thread& thread, const Args& args, const conv::BwdDataUnits& units,
                             const conv::Col2im& columns, const Tile& tile, int id, int lds)
        : thread_(thread), args_(args), units_(units), columns_(columns), tile_(tile), id_(id), lds_(lds) {}
    static CKGEN_DEVICE void prefetch(const Args&, const conv::BwdDataUnits&, const Tile&, int) {}

    // `acc`: all columns of the thread's rows. All math threads take part.
    template <int Count = 1>
    CKGEN_DEVICE void put(int, const float* acc) const {
        wait();  // until the previous product has been read
        put_product(acc);
        put_cells();
        wait();
        write();
    }

private:
    static CKGEN_DEVICE void wait() { platform::barrier_of(1, D::block_size); }
    CKGEN_DEVICE int rows() const { return min_of(D::m_per_block, tile_.rows - tile_.m_first); }

    CKGEN_DEVICE void put_product(const float* acc) const {
        const int row = id_ / 128 * 64 + atom::WgmmaAccumulator::row(id_ % 128, 0);
        const int at = lds_ + (row * pitch + id_ % 4 * 2) * 4;
        CKGEN_UNROLL
        for(int block = 0; block < D::n_per_block / 8; ++block)
            if(block * 8 < columns_.columns) {
                CKGEN_UNROLL
                for(int half = 0; half < 2; ++half)
                    thread_.lds_store(at + (half * 8 * pitch + block * 8) * 4,
                                      Vec<float, 2>{acc[4 * block + 2 * half], acc[4 * block + 2 * half + 1]});
            }
    }
    // The image and the cell of each row of the product.
    CKGEN_DEVICE void put_cells() const {
        if(id_ >= rows())
            return;
        const InputPlace<ndim> at = place_of(tile_, walk_of_row(units_, tile_, tile_.m_first + id_));
        Vec<int32, 4> cell{};
        cell[0] = at.image;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            cell[d + 1] = at.position[d];
        thread_.lds_store(lds_ + cells_byte + id_ * 16, cell);
    }

    // One of the vectors of a cell's row, and the columns that are added to it.
    struct Element {
        int u, channel;
        conv::PlaceTaps taps;

        CKGEN_DEVICE Element(const conv::Col2im& columns, int number)
            : u(columns.by_channels.quotient(number)), channel(number * width - u * columns.channels),
              taps(columns.places[u]) {}
    };

    // Neighbouring threads write neighbouring vectors: those of a cell's row, then those of the next cell.
    CKGEN_DEVICE void write() const {
        const int vectors = columns_.stride * columns_.channels / width;
        const int first = columns_.by_vectors.quotient(id_);
        const int begin = tile_.m_first > 0 ? units_.row_overlap : 0;
        if(vectors <= D::block_size)
            write(id_ - first * vectors, begin + first, first < columns_.rows_at_once ? columns_.rows_at_once : 0);
        else
            for(int number = id_; number < vectors; number += D::block_size)
                write(number, begin, 1);
    }
    // Writes a vector of every `step`-th row from `row` on; of none if `step` is 0.
    CKGEN_DEVICE void write(int number, int row, int step) const {
        if(step == 0)
            return;
        const Element element(columns_, number);
        const int next = (columns_.tilde * columns_.channels - columns_.shift * pitch) * 4;
        const int end = rows();
        for(; row < end; row += step)
            write(row, element, next);
    }
    // `next`: bytes from the product of a tap to that of the element's next.
    CKGEN_DEVICE void write(int row, const Element& element, int next) const {
        const auto cell = thread_.template lds_load<Vec<int32, 4>>(lds_ + cells_byte + row * 16);
        InputPlace<ndim> at = place(cell, element);
        if(at.position[ndim - 1] < 0 || at.position[ndim - 1] >= columns_.in_columns)
            return;
        const int before = cell[ndim] - element.taps.back;  // rows of the product before the first tap's, in the image
        const int seen = columns_.shift == 1 ? before + 1 : before / columns_.shift + 1;
        const int terms = before < 0 ? 0 : min_of(element.taps.count, seen);
        const int column = element.taps.first * columns_.channels + element.channel;
        int source = lds_ + ((row - element.taps.back) * pitch + column) * 4;
        for(int y = 0; y < columns_.rows; ++y, source += columns_.taps * columns_.channels * 4) {
            if(is_row(at)) {
                write_fused<D>(thread_, args_, at, input_offset<D>(at, args_.in), sum(source, next, terms).data);
            }
            if constexpr(ndim > 1)
                ++at.position[ndim - 2];
        }
    }
    // The place of an element in the cell's first row.
    CKGEN_DEVICE InputPlace<ndim> place(const Vec<int32, 4>& cell, const Element& element) const {
        InputPlace<ndim> at;
        at.group = tile_.group;
        at.image = cell[0];
        at.channel = element.channel;
        CKGEN_UNROLL
        for(int d = 0; d < ndim; ++d)
            at.position[d] = cell[d + 1];
        if constexpr(ndim > 1)
            at.position[ndim - 2] = at.position[ndim - 2] * columns_.rows + columns_.first_row;
        at.position[ndim - 1] = at.position[ndim - 1] * columns_.stride + element.u - columns_.pad;
        return at;
    }
    CKGEN_DEVICE bool is_row(const InputPlace<ndim>& at) const {
        if constexpr(ndim == 1)
            return true;
        else
            return at.position[ndim - 2] >= 0 && at.position[ndim - 2] < columns_.in_rows;
    }
    // Four loads are in flight.
    CKGEN_DEVICE Vec<float, width> sum(int source, int next, int terms) const {
        Vec<float, width> result{};
        for(int first = 0; first < terms; first += 4) {
            Vec<float, width> values[4]{};
            CKGEN_UNROLL
            for(int i = 0; i < 4; ++i)
                if(first + i < terms)
                    values[i] = thread_.template lds_load<Vec<float, width>>(source + (first + i) * next);
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                result[e] += (values[0][e] + values[1][e]) + (values[2][e] + values[3][e]);
        }
        return result;
    }

    const platform::Thread& thread_;
    const Args& args_;
    const conv::BwdDataUnits& units_;
    const conv::Col2im& columns_;
    const Tile& tile_;
    int id_, lds_;
};

}  // namespace ckgen::epilogue
