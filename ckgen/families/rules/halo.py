"""The rules of family halo: 3x3 filters with few channels; all taps read the same rows in shared memory.

If m_per_xdl is 64, warpgroups multiply by wgmma; otherwise warps multiply by mma.sync.
"""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.families.rules.shared import COPY_ATOM, COPY_DTYPE, COPY_SPEC, LDS_BYTES
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    COPY_DTYPE,
    Rule(
        id="halo-dtype",
        scope="domain",
        condition="elem_bytes == 2",
        sentence="in backward weight, tensors have elements of 16 bits",
        message="{family} has no {dtype} instances of backward weight",
        help="use f16 or bf16, or family two_stage",
        reason="ldmatrix transposes elements of 16 bits only, and positions are GEMM-K here.",
        blame=("dtype",),
        operations=(BWD_WEIGHT,),
    ),
    COPY_SPEC,
    Rule(
        id="halo-vectors",
        scope="domain",
        condition="elem_bytes != 2 or (a_vector == 8 and b_vector == 8 and c_vector == 4)",
        sentence="A and B are copied in units of 8 channels, C is written in fours",
        message="vectors {a_vector}x{b_vector}x{c_vector}",
        help="leave `vector` out: halo has 8x8x4 only",
        reason="TMA needs rows of a multiple of 16 bytes; four weights are 16 bytes of f32.",
        blame=("vector",),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="halo-data-vectors",
        scope="domain",
        condition=(
            "a_vector * elem_bytes == 16 and c_vector == a_vector"
            " and ((elem_bytes == 2 and b_vector * groups_to_merge == 8) or (elem_bytes == 4 and b_vector == 4))"
        ),
        sentence="A and C have units of 16 bytes, B of the channels of a group, at most 16 bytes",
        message="vectors {a_vector}x{b_vector}x{c_vector}",
        help="leave `vector` out: halo of backward data has 8x8x8 only, with 2 merged groups 8x4x8, in f32 4x4x4",
        reason=("TMA needs rows of a multiple of 16 bytes; lanes exchange results until each has 16 bytes."),
        blame=("vector",),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="halo-groups-to-merge",
        scope="tile",
        condition="groups_to_merge == 1 or (groups_to_merge == 2 and m_per_block == 8 and n_per_block == 8)",
        sentence="two groups may be merged with a tile of 8x8",
        message="{groups_to_merge} merged groups with a tile of {m_per_block}x{n_per_block}",
        help="use the tile 8x8 with `groups_to_merge: 2` for groups of 4 channels, or leave `groups_to_merge` out",
        reason=(
            "Groups of 4 channels fill half of the matrix atom; groups of 8 or more fill it by themselves. Weights are"
            " written in fours."
        ),
        blame=("groups_to_merge", "tile"),
    ),
    Rule(
        id="halo-stages",
        scope="domain",
        condition="stages >= 2 and stages <= 6",
        sentence="at most 2 to 6 steps are in shared memory at once",
        message="{stages} stages for family {family}",
        help="use 2 to 6, or leave `stages` out",
        reason="One step is filled while another is multiplied. How many of these fit follows from the problem.",
        blame=("stages",),
    ),
    Rule(
        id="halo-layout",
        scope="domain",
        condition="ndim == 2 and not groups_outermost and channels_last",
        sentence="the layout has two dimensions with the channels last and the groups next to them, as in NHWGC",
        message="halo has no layouts but NHWGC/GKYXC/NHWGK and NHWGK/GKYXC/NHWGC",
        help="use one of these, or family xdl",
        reason="Rows of an image stream through shared memory, the channels of several groups side by side.",
        blame=("layout",),
    ),
    Rule(
        id="halo-tile",
        scope="tile",
        condition=(
            "(m_per_xdl == 64 and n_per_block == 64 and (m_per_block == 40 or m_per_block == 64)) or (m_per_xdl =="
            " 16 and n_per_block == m_per_block and (m_per_block == 8 or m_per_block == 16 or m_per_block == 32))"
        ),
        sentence=(
            "the tile is 8x8, 16x16 or 32x32, K and C of a group, and m_per_xdl 16; or 40 or 64 K by 64 C and"
            " m_per_xdl 64"
        ),
        message="the tile is {m_per_block}x{n_per_block}, m_per_xdl {m_per_xdl}",
        help="use 8x8, 16x16, 32x32, 40x64 or 64x64 and leave m_per_xdl out",
        reason=(
            "A workgroup has 64 input channels, of whole groups or of one. mma.sync's atom has 16 rows and 8 columns,"
            " wgmma's 64 rows; its columns come in rows of 64, or of 32 and a rest of 8, for each of three taps."
        ),
        blame=("tile", "m_per_xdl"),
    ),
    Rule(
        id="halo-data-tile",
        scope="tile",
        condition="m_per_xdl == 16 and m_per_block * elem_bytes <= 64",
        sentence="backward data multiplies by mma.sync, m_per_xdl 16, and a group has 64 bytes of channels at most",
        message="the tile is {m_per_block}x{n_per_block}, m_per_xdl {m_per_xdl}, of {dtype}",
        help="use 8x8, 16x16 or, in 16 bits, 32x32",
        reason="The weights of a warp stay in registers. Larger groups fill tiles of wgmma: family wavelet_tma.",
        blame=("tile", "m_per_xdl"),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="halo-k",
        scope="tile",
        condition="k_per_block == 16 or (m_per_xdl == 16 and k_per_block > 16 and k_per_block % 16 == 0)",
        sentence="k_per_block is 16 positions, or with mma.sync a multiple",
        message="k_per_block is {k_per_block} with m_per_xdl {m_per_xdl}",
        help="use 16, with m_per_xdl 16 a multiple, or leave k_per_block out",
        reason=(
            "A step of either matrix instruction is 16 positions. With mma.sync each share of the warps multiplies its"
            " own 16; with wgmma all warpgroups multiply the same 16."
        ),
        blame=("k_per_block", "tile"),
    ),
    Rule(
        id="halo-waves",
        scope="tile",
        condition=(
            "load_waves == 2 and ((m_per_xdl == 64 and math_waves == 6) or"
            " (m_per_xdl == 16 and math_waves * 2 == units * shares and math_waves <= 8))"
        ),
        sentence=(
            "one warpgroup of two waves loads; units x shares warps multiply, at most 16, or with wgmma three"
            " warpgroups"
        ),
        message="{load_waves} load and {math_waves} math waves for {units} units and {shares} shares",
        help="leave `wave_ratio` out, or use a smaller k_per_block",
        reason=(
            "A warp has 16 or 8 of the 64 input channels (in backward data 32 channels) and one share of the positions;"
            " with wgmma a warpgroup has all channels and a row of the filter. One thread issues all copies."
        ),
        blame=("wave_ratio", "k_per_block", "tile"),
    ),
    Rule(
        id="halo-data-waves",
        scope="tile",
        condition="math_waves == 4",
        sentence="in backward data four waves multiply",
        message="{math_waves} math waves and k_per_block {k_per_block}",
        help="leave `wave_ratio` and `k_per_block` out, or use [2, 4] and 64",
        reason="Registers move between one warpgroup that loads and two that multiply.",
        blame=("k_per_block", "wave_ratio", "tile"),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="halo-registers",
        scope="instance",
        condition=(
            "(math_waves <= 4 and acc_registers <= 180) or (math_waves == 6 and acc_registers <= 72) or"
            " acc_registers <= 40 or (m_per_xdl == 64 and acc_registers <= 96)"
        ),
        sentence="accumulators and some 50 other registers fit a thread",
        message="{acc_registers} accumulator registers per thread and {math_waves} math waves",
        help="use a smaller k_per_block or tile",
        reason=(
            "A multiprocessor has 65536 registers for all threads; four math waves can be given 232 each by"
            " setmaxnreg, six 152."
        ),
        blame=("k_per_block", "tile"),
    ),
    Rule(
        id="halo-products",
        scope="instance",
        condition="lds_products_bytes + 16 * stages <= lds_bytes",
        sentence="the products of all shares fit shared memory, beside the barriers",
        message="{lds_products_bytes} bytes of products, {lds_bytes} of shared memory",
        help="use a smaller k_per_block or tile",
        reason=(
            "At the end the shares of a workgroup are added up in shared memory. The barriers, 16 bytes per stage,"
            " keep their place."
        ),
        blame=("k_per_block", "tile"),
    ),
    COPY_ATOM,
)
