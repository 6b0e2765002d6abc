// Everything about an instance of family halo that follows from its Config. The same names and formulas are properties
// of ckgen.instance.Instance in Python; a test compares the two for every instance.
#pragma once

#include "ckgen/types.hpp"

namespace ckgen {

// m_per_block: K of one group; n_per_block: C of one group, or 64 of one with more, by wgmma (m_per_xdl 64);
// k_per_block: positions that the math waves take at once. A workgroup has 64 input channels. WritesInput: backward
// data writes the input, backward weight the weight.
template <class Config, bool WritesInput = false>
struct HaloDerived : Config {
    using In = typename Config::DataType::In;
    using Wei = typename Config::DataType::Wei;
    using Out = typename Config::DataType::Out;
    using Config::k_per_block;
    using Config::load_waves;
    using Config::m_per_block;
    using Config::m_per_xdl;
    using Config::math_waves;
    using Config::n_per_block;

    static constexpr int ndim = Config::Layout::ndim;
    static constexpr int wave_size = 64;
    static constexpr int elem_bytes = sizeof(Out);
    static constexpr int wei_bytes = sizeof(Wei);
    static constexpr int c_bytes = WritesInput ? sizeof(In) : sizeof(Wei);
    static constexpr int block_size = wave_size * math_waves;
    static constexpr int launch_threads = wave_size * (load_waves + math_waves);

    static constexpr int groups_per_block = 64 / n_per_block;
    // A warp has 16 input channels, the rows of mma.sync's atom, or 8 and two taps; in backward data, where these are
    // its columns, 32. units x shares warps multiply.
    static constexpr int unit_channels = WritesInput ? 32 : min_of(n_per_block, 16);
    static constexpr int units = 64 / unit_channels;
    static constexpr int shares = k_per_block / 16;
    // A warpgroup has a row of the filter, the taps beside each other. Backward data sums positions of the input.
    static constexpr int acc_registers = WritesInput       ? k_per_block * 64 / block_size
                                         : m_per_xdl == 64 ? 3 * m_per_block / 2
                                                           : (n_per_block < 16 ? 5 : 9) * (m_per_block / 8) * 4;

    static constexpr int out_pitch = groups_per_block * m_per_block * 2;
    static constexpr int lds_products_bytes =
        WritesInput || m_per_xdl == 64 ? 0 : shares * groups_per_block * m_per_block * (9 * n_per_block + 4) * 4;
    static constexpr int lds_bytes = 227 * 1024;  // all that sm_90a has: the rings' shape follows from the problem
};

}  // namespace ckgen
