// Copied by ckgen from templates/include/ckgen/epilogue/lane_exchange.hpp. Do not edit; run: ckgen generate
// Exchanges among the lanes of a warp: accumulators of wgmma among four neighbouring lanes, where pairs of columns
// become lines of eight columns, and values that one lane has computed for all.
#pragma once

#include "ckgen/platform/platform.hpp"

namespace ckgen::epilogue {

// Each lane exchanges two of its words with the lane whose number differs in `Bit`. `lane`: number among `Lanes`
// lanes; all of them must call this.
template <int Bit, int Lanes = platform::kExchangeLanes>
CKGEN_DEVICE void exchange(const platform::Thread& thread, int lane, int32 (&words)[4]) {
    const bool set = (lane & Bit) != 0;
    CKGEN_UNROLL
    for(int i = 0; i < 4; ++i)
        if((i & Bit) == 0) {
            int32 other[1];
            thread.template gather<Lanes>(set ? words[i] : words[i + Bit], lane ^ Bit, other);
            words[i] = set ? other[0] : words[i];
            words[i + Bit] = set ? words[i + Bit] : other[0];
        }
}

// Lane i of four gets word i of all four lanes, in lane order. `lane`: lane of the warp. All lanes take part.
CKGEN_DEVICE void exchange_lanes(const platform::Thread& thread, int lane, int32 (&words)[4]) {
    exchange<1>(thread, lane, words);
    exchange<2>(thread, lane, words);
}

// The value of a lane of the same warp. All lanes take part.
CKGEN_DEVICE int32 of_lane(const platform::Thread& thread, int lane, int32 value) {
    constexpr int exchanging = platform::kExchangeLanes;  // the host exchanges several warps at once
    int32 result[1];
    thread.gather(value, thread.thread_id() % exchanging / 32 * 32 + lane, result);
    return result[0];
}
CKGEN_DEVICE int64 of_lane(const platform::Thread& thread, int lane, int64 value) {
    const auto low = static_cast<uint32>(of_lane(thread, lane, static_cast<int32>(value)));
    return static_cast<int64>(of_lane(thread, lane, static_cast<int32>(value >> 32))) << 32 | low;
}

}  // namespace ckgen::epilogue
