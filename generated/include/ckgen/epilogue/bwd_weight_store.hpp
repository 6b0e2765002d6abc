// Copied by ckgen from templates/include/ckgen/epilogue/bwd_weight_store.hpp. Do not edit; run: ckgen generate
// Stores lines of the tile as weights, or as partials of them.
#pragma once

#include "ckgen/load/bwd_weight_view.hpp"

namespace ckgen::epilogue {

// Shape: a ShuffleShape.
template <class D, class Shape>
class BwdWeightStore {
public:
    CKGEN_DEVICE BwdWeightStore(const platform::Thread&, int math_id, const conv::BwdWeightArgs& args,
                                const conv::BwdWeightTile& tile)
        : math_id_(math_id), args_(args), tile_(tile) {}

    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass) const {
        if(args_.partial != nullptr) {
            const int64 slice =
                (static_cast<int64>(tile_.split) * args_.groups + tile_.group) * args_.wei_group_elements;
            take(thread, base, pass, reinterpret_cast<typename D::Accumulator*>(args_.partial) + slice);
        } else {
            using Wei = typename D::Wei;
            take(thread, base, pass, reinterpret_cast<Wei*>(args_.wei) + tile_.group * args_.wei_group_elements);
        }
    }

private:
    template <class Target>
    CKGEN_DEVICE void take(const platform::Thread& thread, int base, int pass, Target* target) const {
        CKGEN_UNROLL
        for(int round = 0; round < Shape::rounds; ++round) {
            const int index = round * D::block_size + math_id_;
            const int line = index / Shape::line_vectors;
            const int column = index % Shape::line_vectors * D::c_vector;
            const int m = tile_.m_first + Shape::row_of_line(pass, line);
            const int n = tile_.n_first + column;
            if((Shape::whole_rounds || index < Shape::vectors) && m < args_.m && n < args_.n)
                write(thread, base + Shape::byte_of(line, column), target + static_cast<int64>(m) * args_.n + place(n));
        }
    }

    // The place of column n among the weights of one output channel. Columns have the order of the weight, or else n is
    // tap n / c and channel n % c.
    CKGEN_DEVICE int place(int n) const {
        using Axes = typename D::Layout::Wei;
        if constexpr(D::c_channels_last) {
            return n;
        } else {
            static_assert(Axes::axes[0] == 0 && Axes::axes[1] == 1 && Axes::axes[2] == 2, "groups, K, C, taps");
            if constexpr(D::b_k_major)
                return n;
            const int tap = n / args_.c;
            return (n - tap * args_.c) * (args_.n / args_.c) + tap;
        }
    }

    // Stores c_vector neighbouring elements in accesses of at most 16 bytes.
    template <class Target>
    static CKGEN_DEVICE void write(const platform::Thread& thread, int byte, Target* target) {
        constexpr int width = min_of(D::c_vector, 16 / static_cast<int>(sizeof(Target)));
        CKGEN_UNROLL
        for(int first = 0; first < D::c_vector; first += width) {
            Vec<Target, width> values;
            CKGEN_UNROLL
            for(int e = 0; e < width; ++e)
                values[e] = Convert<Target>::from(Shape::value(thread, byte, first + e));
            thread.global_store(target + first, values);
        }
    }

    int math_id_;
    const conv::BwdWeightArgs& args_;
    const conv::BwdWeightTile& tile_;
};

}  // namespace ckgen::epilogue
