// What the kernels of family depthwise share. Every group has one input channel, so that neighbouring groups are
// neighbouring elements: a thread takes a_vector of them at once. The threads of a workgroup are channel_threads beside
// each other times position_threads. A thread computes strips: thread_positions positions of the innermost dimension
// that are a constant distance apart, at which taps of one filter row read the same values for several positions.
#pragma once

#include "ckgen/load/bwd_data_view.hpp"

namespace ckgen::pipeline {

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

// The values of neighbouring groups as f32.
template <class T, int Width>
CKGEN_DEVICE void to_floats(const Vec<T, Width>& values, float (&result)[Width]) {
#if defined(__CUDA_ARCH__)
    // As pairs: element by element, nvcc extracts each half with an instruction of its own.
    if constexpr(IsSame<T, half_t>::value && Width % 2 == 0) {
        const auto words = __builtin_bit_cast(Vec<uint32, Width / 2>, values);
        CKGEN_UNROLL
        for(int i = 0; i < Width / 2; ++i) {
            const float2 pair = __half22float2(__builtin_bit_cast(__half2, words[i]));
            result[2 * i] = pair.x;
            result[2 * i + 1] = pair.y;
        }
        return;
    }
    if constexpr(IsSame<T, bhalf_t>::value && Width % 2 == 0) {
        const auto words = __builtin_bit_cast(Vec<uint32, Width / 2>, values);
        CKGEN_UNROLL
        for(int i = 0; i < Width / 2; ++i) {
            result[2 * i] = __builtin_bit_cast(float, words[i] << 16);
            result[2 * i + 1] = __builtin_bit_cast(float, words[i] & 0xffff0000u);
        }
        return;
    }
#endif
    CKGEN_UNROLL
    for(int e = 0; e < Width; ++e)
        result[e] = to_float(values[e]);
}

CKGEN_DEVICE bool is_inside(int position, int length) {
    return static_cast<uint32>(position) < static_cast<uint32>(length);
}

}  // namespace ckgen::pipeline
