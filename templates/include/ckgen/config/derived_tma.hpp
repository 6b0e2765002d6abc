// Everything about an instance of family wavelet_tma that follows from its Config. The same names and formulas are
// properties of ckgen.instance.Instance in Python; a test compares the two for every instance.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen {

// A is m_per_block x k_per_block, B n_per_block x k_per_block, both of 16-bit elements in shared memory.
// WritesInput: backward data writes the input, backward weight the weight. Stationary: of family stationary, where B
// stays in shared memory and a stage is a tile of A.
template <class Config, bool WritesInput = false, bool Stationary = false>
struct TmaDerived : Config {
    using In = typename Config::DataType::In;
    using Wei = typename Config::DataType::Wei;
    using Out = typename Config::DataType::Out;
    using Config::k_per_block;
    using Config::load_waves;
    using Config::m_per_block;
    using Config::m_per_xdl;
    using Config::math_waves;
    using Config::n_per_block;
    using Config::stages;

    static constexpr int wave_size = 64;
    static constexpr int elem_bytes = sizeof(Out);
    static constexpr int wei_bytes = sizeof(Wei);
    static constexpr int c_bytes = WritesInput ? sizeof(In) : sizeof(Wei);

    static constexpr int block_size = wave_size * math_waves;
    static constexpr int launch_threads = wave_size * (load_waves + math_waves);
    // A warpgroup is 128 threads; one of the math role holds m_per_xdl rows of a tile, n_per_block / 2 floats a thread
    // of each 64.
    static constexpr int warpgroups = math_waves / 2;
    static constexpr int acc_registers = n_per_block / 2 * (m_per_xdl / 64);

    static constexpr bool stationary = Stationary;
    static constexpr int lds_stage_bytes = (m_per_block + (Stationary ? 0 : n_per_block)) * k_per_block * 2;
    // Rows of GEMM-K of B that stay: 128 KiB, and an mbarrier for each 16 and two others.
    static constexpr int weight_rows = Stationary ? 64 * 1024 / n_per_block : 0;
    static constexpr int lds_weight_bytes = weight_rows * n_per_block * 2 + (Stationary ? weight_rows / 2 + 16 : 0);
    // In which a warp of the math role puts results in order: 16 rows of up to 128 channels.
    static constexpr int lds_store_bytes = WritesInput ? 16 * 2 * min_of(n_per_block, 128) : 0;
    // The swizzle wants stages to begin at multiples of 1024 bytes; a stage has two mbarriers of 8 bytes.
    static constexpr int lds_beside_stages = 1024 + lds_weight_bytes + 2 * math_waves * lds_store_bytes;
    static constexpr int lds_bytes = ceil_div(stages * (lds_stage_bytes + 16) + lds_beside_stages, 16) * 16;
};

}  // namespace ckgen
