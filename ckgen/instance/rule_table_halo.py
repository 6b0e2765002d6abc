"""The rules of family halo: 3x3 filters of few channels, whose taps read the same rows in shared memory.

Where m_per_xdl is 64, warpgroups multiply by wgmma, else warps by mma.sync.
"""

from __future__ import annotations

from ckgen.instance.rule import Rule
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, HALO_FAMILIES

HALO_RULES: tuple[Rule, ...] = (
    Rule(
        "halo-vectors",
        "domain",
        "a_vector == 8 and b_vector == 8 and c_vector == 4",
        "A and B are copied in units of 8 channels, C is written in fours",
        "vectors {a_vector}x{b_vector}x{c_vector}",
        "leave `vector` out: halo has 8x8x4 only",
        "A bulk tensor copy needs rows of a multiple of 16 bytes; four weights are 16 bytes of f32.",
        ("vector",),
        HALO_FAMILIES,
        (BWD_WEIGHT,),
    ),
    Rule(
        "halo-data-vectors",
        "domain",
        "a_vector == 8 and b_vector == 8 and c_vector == 8",
        "A, B and C have units of 8 channels",
        "vectors {a_vector}x{b_vector}x{c_vector}",
        "leave `vector` out: halo of backward data has 8x8x8 only",
        "A bulk tensor copy needs rows of a multiple of 16 bytes; lanes exchange results until each has 16 bytes.",
        ("vector",),
        HALO_FAMILIES,
        (BWD_DATA,),
    ),
    Rule(
        "halo-stages",
        "domain",
        "stages >= 2 and stages <= 6",
        "at most 2 to 6 steps are in shared memory at once",
        "{stages} stages for family {family}",
        "use 2 to 6, or leave `stages` out",
        "One step is filled while another is multiplied. How many of these fit follows from the problem.",
        ("stages",),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-layout",
        "domain",
        "ndim == 2 and not groups_outermost and channels_last",
        "the layout has two dimensions and the channels last, the groups beside them, as in NHWGC",
        "halo has no layouts but NHWGC/GKYXC/NHWGK and NHWGK/GKYXC/NHWGC",
        "use one of these, or family xdl",
        "Rows of an image stream through shared memory, the channels of several groups side by side.",
        ("layout",),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-tile",
        "tile",
        "(m_per_xdl == 64 and n_per_block == 64 and (m_per_block == 40 or m_per_block == 64)) or (m_per_xdl == 16 and"
        " n_per_block == m_per_block and (m_per_block == 8 or m_per_block == 16 or m_per_block == 32))",
        "the tile is 8x8, 16x16 or 32x32, K and C of a group, and m_per_xdl 16; or 40 or 64 K by 64 C and m_per_xdl 64",
        "the tile is {m_per_block}x{n_per_block}, m_per_xdl {m_per_xdl}",
        "use 8x8, 16x16, 32x32, 40x64 or 64x64 and leave m_per_xdl out",
        "A workgroup has 64 input channels, of whole groups or of one. mma.sync's atom has 16 rows and 8 columns,"
        " wgmma's 64 rows; its columns come in rows of 64, or of 32 and a rest of 8, for each of three taps.",
        ("tile", "m_per_xdl"),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-data-tile",
        "tile",
        "m_per_xdl == 16",
        "backward data multiplies by mma.sync, m_per_xdl 16",
        "the tile is {m_per_block}x{n_per_block}, m_per_xdl {m_per_xdl}",
        "use 8x8, 16x16 or 32x32",
        "With 64 channels of one group a tile of wgmma is full without it: family wavelet_tma.",
        ("tile", "m_per_xdl"),
        HALO_FAMILIES,
        (BWD_DATA,),
    ),
    Rule(
        "halo-k",
        "tile",
        "k_per_block == 16 or (m_per_xdl == 16 and k_per_block > 16 and k_per_block % 16 == 0)",
        "k_per_block is 16 positions, or with mma.sync a multiple",
        "k_per_block is {k_per_block} with m_per_xdl {m_per_xdl}",
        "use 16, with m_per_xdl 16 a multiple, or leave k_per_block out",
        "A step of either matrix instruction is 16 positions; with mma.sync as many are dealt to each share of the"
        " warps, with wgmma all warpgroups take the same.",
        ("k_per_block", "tile"),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-waves",
        "tile",
        "load_waves == 2 and ((m_per_xdl == 64 and math_waves == 6) or"
        " (m_per_xdl == 16 and math_waves * 2 == units * shares and math_waves <= 8))",
        "one warpgroup of two waves loads; units x shares warps multiply, at most 16, or with wgmma three warpgroups",
        "{load_waves} load and {math_waves} math waves for {units} units and {shares} shares",
        "leave `wave_ratio` out, or use a smaller k_per_block",
        "A warp has 16 of the 64 input channels, or 8, in backward data 32, and one share of the positions; with wgmma"
        " a warpgroup has all channels and a row of the filter. One thread issues all copies.",
        ("wave_ratio", "k_per_block", "tile"),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-data-waves",
        "tile",
        "math_waves == 4",
        "in backward data four waves multiply",
        "{math_waves} math waves and k_per_block {k_per_block}",
        "leave `wave_ratio` and `k_per_block` out, or use [2, 4] and 64",
        "Registers move between one warpgroup that loads and two that multiply.",
        ("k_per_block", "wave_ratio", "tile"),
        HALO_FAMILIES,
        (BWD_DATA,),
    ),
    Rule(
        "halo-registers",
        "instance",
        "(math_waves <= 4 and acc_registers <= 180) or (math_waves == 6 and acc_registers <= 72) or acc_registers <= 40"
        " or (m_per_xdl == 64 and acc_registers <= 96)",
        "accumulators and some 50 other registers fit a thread",
        "{acc_registers} accumulator registers per thread and {math_waves} math waves",
        "use a smaller k_per_block or tile",
        "A multiprocessor has 65536 registers for all threads; four math waves can be given 232 each by setmaxnreg, six"
        " 152.",
        ("k_per_block", "tile"),
        HALO_FAMILIES,
    ),
    Rule(
        "halo-products",
        "instance",
        "lds_products_bytes + 16 * stages <= lds_bytes",
        "the products of all shares fit shared memory, beside the barriers",
        "{lds_products_bytes} bytes of products, {lds_bytes} of shared memory",
        "use a smaller k_per_block or tile",
        "At the end the shares of a workgroup are added up in shared memory. The barriers, 16 bytes a stage, keep their"
        " place.",
        ("k_per_block", "tile"),
        HALO_FAMILIES,
    ),
)
