// Copied by ckgen from templates/include/ckgen/config/derived.hpp. Do not edit; run: ckgen generate
// Everything about an instance that follows from its Config. The same names and formulas are properties of
// ckgen.instance.Instance in Python; a test compares the two for every instance.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen {

// Sizes are in elements, slots of 16 bytes, or bytes where the name says so. SlotsOfA: A is contiguous along GEMM-K in
// global memory, as in its LDS slots, and is copied slot by slot; else it is contiguous along GEMM-M, as B is along N,
// and is transposed. Backward weight writes the weight, backward data (derived_bwd_data.hpp) the input.
template <class Config, bool SlotsOfA = false>
struct Derived : Config {
    using In = typename Config::DataType::In;
    using Wei = typename Config::DataType::Wei;
    using Out = typename Config::DataType::Out;
    using Config::a_vector;
    using Config::b_vector;
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
    static constexpr int c_bytes = SlotsOfA ? sizeof(In) : sizeof(Wei);
    static constexpr int k1 = 16 / elem_bytes;

    static constexpr int copy_waves = load_waves > 0 ? load_waves : math_waves;
    static constexpr int copy_threads = wave_size * copy_waves;
    static constexpr int block_size = wave_size * math_waves;
    static constexpr int launch_threads = wave_size * (load_waves + math_waves);

    static constexpr int m_waves = math_waves == 8   ? (m_per_block > n_per_block ? 4 : 2)
                                   : math_waves == 4 ? 2
                                   : math_waves == 2 ? (m_per_block > n_per_block ? 2 : 1)
                                                     : 1;
    static constexpr int n_waves = math_waves / m_waves;
    static constexpr int m_xdl_per_wave = m_per_block / (m_waves * m_per_xdl);
    static constexpr int n_xdl_per_wave = n_per_block / (n_waves * m_per_xdl);
    static constexpr int k_step = k1 * (wave_size / m_per_xdl);
    static constexpr int acc_registers = m_xdl_per_wave * n_xdl_per_wave * m_per_xdl * m_per_xdl / wave_size;

    static constexpr int a_elems = m_per_block * k_per_block / copy_threads;
    static constexpr int a_dst_vector = SlotsOfA ? k1 : max_of(1, min_of(k1, a_elems / a_vector));
    static constexpr int a_slices = a_elems / (SlotsOfA ? k1 : a_vector * a_dst_vector);
    static constexpr int b_elems = n_per_block * k_per_block / copy_threads;
    static constexpr int b_dst_vector = max_of(1, min_of(k1, b_elems / b_vector));
    static constexpr int b_slices = b_elems / (b_vector * b_dst_vector);

    static constexpr int planes = k_per_block / k1;
    static constexpr int slot_pad = planes >= 8 ? 1 : planes > 1 ? 8 / planes : 0;
    static constexpr int a_pad = SlotsOfA ? slot_pad : m_per_block / a_vector < 8 ? m_per_block / a_vector : 0;
    static constexpr int b_pad = n_per_block / b_vector < 8 ? n_per_block / b_vector : 0;
    static constexpr int lds_stage_bytes = (k_per_block / k1) * (m_per_block + a_pad + n_per_block + b_pad) * 16;
    static constexpr int epilogue_rows = m_waves * (256 / m_per_xdl);
    static constexpr int lds_epilogue_bytes = 2 * epilogue_rows * n_per_block * 4;
    static constexpr int lds_bytes = max_of(stages * lds_stage_bytes, lds_epilogue_bytes);

    static constexpr int copy_registers = (a_elems + b_elems) * elem_bytes / 4;
    static constexpr int math_registers = acc_registers + 8 * (m_xdl_per_wave + n_xdl_per_wave);
    static constexpr int vgpr_estimate =
        48 + (load_waves > 0 ? max_of(math_registers, copy_registers) : math_registers + copy_registers);
    static constexpr int vgpr_budget = 512 / ceil_div(load_waves + math_waves, 4);
};

}  // namespace ckgen
