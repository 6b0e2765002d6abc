"""The rules of families wavelet_tma and stationary, from the limits of TMA and of warpgroup matrix instructions on
Hopper.
"""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.families.rules.shared import COPY_ATOM, COPY_DTYPE, COPY_SPEC, LDS_BYTES
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    Rule(
        id="tma-vectors",
        scope="domain",
        condition=(
            "(a_vector * elem_bytes == 16 and b_vector * elem_bytes == 16"
            " and (c_vector == 1 or (channels_last and c_vector == 2) or (not channels_last and c_vector == 8)))"
            " or (a_vector == 1 and b_vector == 1 and c_vector == 1"
            " and ((channels_last and elem_bytes == 2) or (not channels_last and elem_bytes == 4)))"
        ),
        sentence=(
            "A and B have units of 16 bytes, or single elements, of 32 bits with positions side by side, or of 16 bits"
            " with the channels last; C is written as single elements, in pairs, or with positions side by side in"
            " blocks of 8"
        ),
        message="vectors {a_vector}x{b_vector}x{c_vector} for {dtype}",
        help=(
            "leave `vector` out, or give it a c of 1 for any C, or three of 1: with positions side by side for f32 or"
            " f32_comp_tf32 and images of any size, with the channels last for f16 or bf16 and any K and C"
        ),
        reason=(
            "TMA needs rows of a multiple of 16 bytes; threads copy other rows. Accumulators are pairs"
            " of weights in blocks of 8; channels-last inputs have whole blocks, unless they are copied for weights"
            " that are written one by one."
        ),
        blame=("vector",),
        only=("wavelet_tma",),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="tma-data-vectors",
        scope="domain",
        condition=(
            "(b_vector * elem_bytes == 16"
            " and ((a_vector * elem_bytes == 16"
            " and (c_vector * c_bytes == 16 or (c_vector == 1 and channels_last and weight_rows == 0)))"
            " or (a_vector == 1 and c_vector == 1 and not channels_last and weight_rows == 0)))"
            " or (a_vector == 1 and b_vector == 1 and c_vector == 1 and elem_bytes == 4 and as_stored == 0"
            " and not channels_last)"
        ),
        sentence=(
            "A, B and C have units of 16 bytes; of wavelet_tma, C may have single elements with the channels last, and"
            " A and C with positions side by side, in tf32 B too"
        ),
        message="vectors {a_vector}x{b_vector}x{c_vector}",
        help=(
            "leave `vector` out, or, for wavelet_tma, give it a c of 1 for inputs of any C, or an a and c of 1 with"
            " positions side by side for images of any size"
        ),
        reason=(
            "TMA needs rows of a multiple of 16 bytes; lanes exchange results until each has 16 bytes. Rows of any size"
            " are copied and stored by threads."
        ),
        blame=("vector",),
        only=("wavelet_tma", "stationary"),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="tma-stages",
        scope="domain",
        condition="stages >= 2 and stages <= 12",
        sentence="the ring has 2 to 12 stages",
        message="{stages} stages for family {family}",
        help="use 2 to 12, or leave `stages` out",
        reason=(
            "One stage is filled while another is multiplied; more than 12 hide no more latency than the memory has."
        ),
        blame=("stages",),
    ),
    COPY_DTYPE,
    Rule(
        id="tma-tf32",
        scope="domain",
        condition="elem_bytes == 2",
        sentence="family stationary has elements of 16 bits",
        message="{family} has no {dtype} instances",
        help="use f16 or bf16, or family wavelet_tma",
        reason="wgmma takes tf32 from LDS only with GEMM-K innermost, and this family loads A and B in another order.",
        blame=("dtype",),
        only=("stationary",),
    ),
    Rule(
        id="tma-weight-tf32",
        scope="tile",
        condition=(
            "elem_bytes == 2 or as_stored or not channels_last"
            " or (n_per_block != 192 and m_per_xdl == 64 and math_waves * 32 == m_per_block)"
        ),
        sentence="backward weight in tf32, channels last, has 64, 128 or 256 columns and no ping-pong",
        message="n_per_block {n_per_block}, m_per_xdl {m_per_xdl} and {math_waves} math waves for {dtype}",
        help="use n_per_block 64, 128 or 256, and leave `m_per_xdl` and `wave_ratio` out",
        reason=(
            "wgmma takes tf32 from LDS only with GEMM-K innermost; warps multiply channels-last tensors by mma.sync,"
            " each a quarter of the columns."
        ),
        blame=("tile", "m_per_xdl", "wave_ratio"),
        only=("wavelet_tma",),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="tma-f32",
        scope="tile",
        condition=(
            "elem_bytes == 2 or as_stored == 0"
            " or ((n_per_block == 64 or (n_per_block <= 128 and m_per_block <= 128))"
            " and (part_buffers == 0 or m_per_block <= 128)"
            " and m_per_xdl == 64 and math_waves * 32 == m_per_block)"
        ),
        sentence=(
            "f32 that is not rounded to tf32 has at most 128 rows and 128 columns, or 192 by 64 with a copied weight,"
            " and no ping-pong"
        ),
        message="{dtype} with n_per_block {n_per_block}, m_per_xdl {m_per_xdl} and {math_waves} math waves",
        help="use n_per_block 64 or 128 with m_per_block 64 or 128, and leave `m_per_xdl` and `wave_ratio` out",
        reason=(
            "Threads add the products of each stage to their results in f32, so that both need registers, beside those"
            " of the two numbers of tf32 whose sum is an element of A. They write those of B to LDS, in equal shares,"
            " unless B is a copied weight."
        ),
        blame=("tile", "m_per_xdl", "wave_ratio", "dtype"),
        only=("wavelet_tma", "col2im"),
    ),
    Rule(
        id="tma-shift",
        scope="tile",
        condition=(
            "a_vector > 1"
            " or (m_per_xdl == 64 and math_waves * 32 == m_per_block and (elem_bytes == 2 or m_per_block <= 128))"
        ),
        sentence="with single elements of A, each warpgroup has 64 rows of the same tile, in 32 bits of at most 128",
        message=(
            "a vector of {a_vector} for A with m_per_block {m_per_block}, m_per_xdl {m_per_xdl} and {math_waves}"
            " math waves"
        ),
        help="use m_per_block 64 or 128 and leave `m_per_xdl` and `wave_ratio` out",
        reason=(
            "The threads of a warpgroup shift the 64 rows of 16 bits that it multiplies, and each of four warps copies"
            " rows of 32 bits of one box of positions."
        ),
        blame=("vector", "tile", "m_per_xdl", "wave_ratio"),
        only=("wavelet_tma",),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="tma-exchange",
        scope="domain",
        condition="not exchange or (elem_bytes == 4 and channels_last and c_vector > 1)",
        sentence="the weight is operand A only in f32 or tf32, with the channels last and whole vectors of the input",
        message="exchange for {dtype} with layout {layout} and a c vector of {c_vector}",
        help="leave `exchange` out, or use dtype f32 or f32_comp_tf32, a layout like NHWGC and no `vector`",
        reason=(
            "Threads load a weight of f32 to registers, since wgmma reads tf32 from LDS only with GEMM-K innermost."
            " Weights of 16 bits are read as they are."
        ),
        blame=("exchange", "dtype", "layout", "vector"),
        only=("wavelet_tma",),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="tma-cluster",
        scope="domain",
        condition="cluster == 1 or (cluster == 2 and elem_bytes == 2 and channels_last and c_vector > 1)",
        sentence="a cluster has one workgroup, or, in 16 bits with the channels last and weights in pairs, two",
        message="a cluster of {cluster} for {dtype} with layout {layout} and a c vector of {c_vector}",
        help="leave `cluster` out, or use 2 with a dtype of 16 bits, a layout like NHWGC and no `vector`",
        reason=(
            "Clusters of two fill every H100 and H200 whose multiprocessors are even in each GPC, larger ones leave"
            " some idle. Workgroups share copies where TMA loads the input in im2col order, of 16 bits."
        ),
        blame=("cluster", "dtype", "layout", "vector"),
        only=("wavelet_tma",),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="tma-layout",
        scope="domain",
        condition="not groups_outermost",
        sentence="the groups are beside the channels, as in NHWGC or NGCHW",
        message="{family} has no layout {layout}",
        help="use a layout like NHWGC/GKYXC/NHWGK, or family xdl",
        reason="The kernel's tensor maps have the channels of all groups of an image.",
        blame=("layout",),
    ),
    COPY_SPEC,
    Rule(
        id="tma-tile",
        scope="tile",
        condition=(
            "((m_per_block == 64 or m_per_block == 128 or m_per_block == 192) and m_per_xdl == 64)"
            " or ((m_per_block == 128 or (m_per_block == 256 and elem_bytes == 2)) and m_per_xdl == 128)"
        ),
        sentence=(
            "a warpgroup has 64 rows of an m_per_block of 64, 128 or 192, or 128 rows of one of 128 or, in 16-bit"
            " types, of 256"
        ),
        message="m_per_block is {m_per_block}, m_per_xdl {m_per_xdl}",
        help="use m_per_block 64, 128 or 192 and leave m_per_xdl out, or 256 with m_per_xdl 128",
        reason="wgmma computes 64 rows per warpgroup; with more than three, each warpgroup has too few registers.",
        blame=("tile", "m_per_xdl"),
    ),
    Rule(
        id="tma-n",
        scope="tile",
        condition=(
            "n_per_block == 64 or n_per_block == 128 or n_per_block == 160 or n_per_block == 192 or n_per_block == 256"
        ),
        sentence="n_per_block is 64, 128, 160, 192 or 256",
        message="n_per_block is {n_per_block}",
        help="use 64, 128, 160, 192 or 256",
        reason="B is copied in boxes of 64 channels, and one wgmma takes at most 256 columns.",
        blame=("tile",),
    ),
    Rule(
        id="tma-half-box",
        scope="tile",
        condition="n_per_block != 160 or (elem_bytes == 2 and a_vector > 1 and b_k_major == 0)",
        sentence="160 columns are for 16 bits whose A has whole vectors, in backward weight with the channels last",
        message="n_per_block is {n_per_block} for {dtype} with a vector of {a_vector} for A",
        help="use n_per_block 128 or 192",
        reason="160 channels of B are two boxes of a copy and half of another; elsewhere all boxes are whole.",
        blame=("tile", "dtype", "vector"),
        only=("wavelet_tma",),
    ),
    Rule(
        id="stationary-n",
        scope="tile",
        condition="n_per_block == 128 or n_per_block == 256",
        sentence="n_per_block of family stationary is 128 or 256",
        message="n_per_block is {n_per_block}",
        help="use 128 for up to 512 terms a sum, 256 for up to 256",
        reason="128 KiB of the weight stay, whole tiles of GEMM-K; with fewer columns A would be read too often.",
        blame=("tile",),
        only=("stationary",),
    ),
    Rule(
        id="tma-k",
        scope="tile",
        condition=(
            "k_per_block * elem_bytes == 128"
            " or (k_per_block * elem_bytes == 64 and elem_bytes == 2 and a_k_major and channels_last"
            " and weight_rows == 0)"
        ),
        sentence=(
            "k_per_block is 128 bytes: 64 elements of 16 bits, 32 of f32; or 32 elements of 16 bits in backward data,"
            " channels last, where the weight does not stay"
        ),
        message="k_per_block is {k_per_block}",
        help="leave k_per_block out",
        reason="A stage is one box of 64 positions, in backward data of 128 bytes of channels: four wgmma steps.",
        blame=("k_per_block", "tile"),
    ),
    Rule(
        id="tma-waves",
        scope="tile",
        condition=(
            "load_waves == 2"
            " and (math_waves * m_per_xdl == 2 * m_per_block or (math_waves == 4 and m_per_xdl == m_per_block))"
        ),
        sentence="one warpgroup of two waves loads; those that multiply share a tile, or two take tiles in ping-pong",
        message="{load_waves} load and {math_waves} math waves for m_per_block {m_per_block}, m_per_xdl {m_per_xdl}",
        help="leave `wave_ratio` out, or use [2, 2] for m_per_block 64, [2, 4] for 128 and [2, 6] for 192",
        reason=(
            "wgmma is executed by warpgroups of 128 threads, each with its own 64 rows or 128; one thread issues all"
            " copies."
        ),
        blame=("wave_ratio", "tile"),
    ),
    Rule(
        id="tma-registers",
        scope="tile",
        condition=(
            "(warpgroups != 1 or acc_registers + 40 <= 255) and (warpgroups != 2 or acc_registers + 40 <= 232)"
            " and (warpgroups != 3 or acc_registers + 40 <= 152)"
        ),
        sentence="accumulators and 40 other registers fit a thread",
        message="{acc_registers} accumulator registers per thread, and 40 others",
        help="use a smaller n_per_block",
        reason=(
            "A thread has at most 255 registers; two math warpgroups beside a load warpgroup can be given 232"
            " each by setmaxnreg, three 152."
        ),
        blame=("tile",),
    ),
    COPY_ATOM,
)
