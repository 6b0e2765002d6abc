// Copied by ckgen from templates/include/ckgen/pipeline/depthwise.hpp. Do not edit; run: ckgen generate
// The parts that the kernels of family depthwise share. Every group has one input channel, so that neighbouring groups
// are neighbouring elements: a thread takes a_vector of them at once. The threads of a workgroup are channel_threads
// beside each other times position_threads. A thread computes strips: thread_positions positions of the innermost
// dimension that are a constant distance apart, at which taps of one filter row read the same values for several
// positions.
#pragma once

#include "ckgen/load/bwd_data_view.hpp"

namespace ckgen::pipeline {

template <bool First, class A, class B>
struct Select {
    using Type = A;
};
template <class A, class B>
struct Select<false, A, B> {
    using Type = B;
};

// The position of a thread in its workgroup.
template <class D>
struct DepthwiseThread {
    int lane;      // among the threads beside each other along the channels
    int position;  // among all others

    CKGEN_DEVICE explicit DepthwiseThread(const platform::Thread& thread)
        : lane(thread.thread_id() % D::channel_threads), position(thread.thread_id() / D::channel_threads) {}
};

// The strips of all images. A strip has positions first(), first() + distance, ... of the innermost dimension.
template <int NDim>
struct DepthwiseStrips {
    static constexpr int last = NDim - 1;
    using Place = conv::Walk<NDim + 2>;  // image, outer positions, strip, first position below the distance

    int32 length[NDim + 2];
    int32 distance, pitch;  // of neighbouring positions of a strip; from a strip to the next

    CKGEN_DEVICE DepthwiseStrips(int images, const int32* count, int distance_, int positions)
        : distance(distance_), pitch(distance_ * positions) {
        length[0] = images;
        CKGEN_UNROLL
        for(int d = 0; d < last; ++d)
            length[d + 1] = count[d];
        length[NDim] = ceil_div(count[last], pitch);
        length[NDim + 1] = distance;
    }
    CKGEN_DEVICE int first(const Place& place) const { return place.at[NDim] * pitch + place.at[NDim + 1]; }
};

// Values of neighbouring groups as they are in memory. 16-bit values stay in words: nvcc unpacks vectors of them when
// it loads them.
template <class T, int Width>
struct RawValues {
    static constexpr bool words = Width * sizeof(T) % 4 == 0;
    using Element = typename Select<words, uint32, T>::Type;
    using Type = Vec<Element, words ? Width * static_cast<int>(sizeof(T)) / 4 : Width>;
};

template <class T>
CKGEN_DEVICE void to_floats(uint32 word, float (&result)[2]) {
#if defined(__CUDA_ARCH__)
    if constexpr(IsSame<T, half_t>::value) {
        asm("{.reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}"
            : "=f"(result[0]), "=f"(result[1])
            : "r"(word));
        return;
    }
#endif
    if constexpr(IsSame<T, bhalf_t>::value) {
        result[0] = __builtin_bit_cast(float, word << 16);
        result[1] = __builtin_bit_cast(float, word & 0xffff0000u);
    } else {
        const auto pair = __builtin_bit_cast(Vec<uint16, 2>, word);
        result[0] = to_float(__builtin_bit_cast(T, pair[0]));
        result[1] = to_float(__builtin_bit_cast(T, pair[1]));
    }
}
template <class T, int Width>
CKGEN_DEVICE void to_floats(const typename RawValues<T, Width>::Type& raw, float (&result)[Width]) {
    if constexpr(sizeof(T) == 4) {
        CKGEN_UNROLL
        for(int e = 0; e < Width; ++e)
            result[e] = __builtin_bit_cast(float, raw[e]);
    } else if constexpr(RawValues<T, Width>::words) {
        CKGEN_UNROLL
        for(int i = 0; i < Width / 2; ++i) {
            float pair[2];
            to_floats<T>(raw[i], pair);
            result[2 * i] = pair[0];
            result[2 * i + 1] = pair[1];
        }
    } else {
        CKGEN_UNROLL
        for(int e = 0; e < Width; ++e)
            result[e] = to_float(raw[e]);
    }
}

CKGEN_DEVICE bool is_inside(int position, int length) {
    return static_cast<uint32>(position) < static_cast<uint32>(length);
}

}  // namespace ckgen::pipeline
