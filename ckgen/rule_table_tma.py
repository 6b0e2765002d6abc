"""The rules of family wavelet_tma: Hopper's bulk tensor copies and warpgroup matrix instructions.

Some hold for family halo too.
"""

from __future__ import annotations

from ckgen.operation import BWD_DATA, BWD_WEIGHT, COPY_FAMILIES, TMA_FAMILIES
from ckgen.rule import Rule

TMA_RULES: tuple[Rule, ...] = (
    Rule(
        "tma-vectors",
        "domain",
        "a_vector == 8 and b_vector == 64 and c_vector == 2",
        "A is copied in units of 8 channels, B in boxes of 64, C is written in pairs",
        "vectors {a_vector}x{b_vector}x{c_vector}",
        "leave `vector` out: wavelet_tma has 8x64x2 only",
        "A bulk tensor copy needs rows of a multiple of 16 bytes; a swizzled box of B is 128 bytes, 64"
        " channels of one tap; an accumulator register pair is two weights side by side.",
        ("vector",),
        TMA_FAMILIES,
        (BWD_WEIGHT,),
    ),
    Rule(
        "tma-data-vectors",
        "domain",
        "a_vector == 8 and b_vector == 8 and c_vector == 8",
        "A, B and C have units of 8 channels",
        "vectors {a_vector}x{b_vector}x{c_vector}",
        "leave `vector` out: wavelet_tma of backward data has 8x8x8 only",
        "A bulk tensor copy needs rows of a multiple of 16 bytes; lanes exchange results until each has 16 bytes.",
        ("vector",),
        TMA_FAMILIES,
        (BWD_DATA,),
    ),
    Rule(
        "tma-stages",
        "domain",
        "stages >= 2 and stages <= 8",
        "the ring has 2 to 8 stages",
        "{stages} stages for family {family}",
        "use 2 to 8, or leave `stages` out",
        "One stage is filled while another is multiplied; more than 8 hide no more latency than the memory has.",
        ("stages",),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-dtype",
        "domain",
        "elem_bytes == 2",
        "A and B have elements of 16 bits",
        "{family} has no {dtype} instances",
        "use f16, bf16 or bf16_f32_bf16, or family xdl",
        "The matrix unit multiplies f32 as tf32, which keeps 10 bits, and takes it only with GEMM-K innermost.",
        ("dtype",),
        COPY_FAMILIES,
    ),
    Rule(
        "tma-layout",
        "domain",
        "not groups_outermost",
        "the layout has the groups beside the channels, as in NHWGC",
        "wavelet_tma has no layouts with groups outermost",
        "use a layout like NHWGC/GKYXC/NHWGK, or family xdl",
        "The kernel's tensor maps have one row of G x C channels for each position.",
        ("layout",),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-spec",
        "domain",
        "not pointwise and not generic",
        "conv_spec is Default and the instance not generic",
        "{family} has no generic instances and no conv_spec but Default",
        "use conv_spec Default and leave `generic` out",
        "The copy engine knows padding and strides, so a kernel for 1x1 filters would be the same; it"
        " needs channels that are multiples, so it cannot be generic.",
        ("conv_spec", "generic"),
        COPY_FAMILIES,
    ),
    Rule(
        "tma-tile",
        "tile",
        "(m_per_block == 64 or m_per_block == 128) and (m_per_xdl == 64 or m_per_xdl == 128)"
        " and m_per_xdl <= m_per_block",
        "m_per_block is 64 or 128; a warpgroup has m_per_xdl of its rows, 64 or 128",
        "m_per_block is {m_per_block}, m_per_xdl {m_per_xdl}",
        "use m_per_block 64 or 128 and leave m_per_xdl out",
        "wgmma computes 64 rows a warpgroup; more than two warpgroups do not leave each other enough registers.",
        ("tile", "m_per_xdl"),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-n",
        "tile",
        "n_per_block == 64 or n_per_block == 128 or n_per_block == 192 or n_per_block == 256",
        "n_per_block is 64, 128, 192 or 256",
        "n_per_block is {n_per_block}",
        "use 64, 128, 192 or 256",
        "B is copied in boxes of 64 channels, and one wgmma takes at most 256 columns.",
        ("tile",),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-k",
        "tile",
        "k_per_block == 64",
        "k_per_block is 64",
        "k_per_block is {k_per_block}",
        "use 64, or leave k_per_block out",
        "A stage is one box of 64 positions, in backward data of 64 channels: four wgmma steps of 16.",
        ("k_per_block", "tile"),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-waves",
        "tile",
        "load_waves == 2"
        " and (math_waves * m_per_xdl == 2 * m_per_block or (math_waves == 4 and m_per_xdl == m_per_block))",
        "one warpgroup of two waves loads; those that multiply share a tile, or two take tiles by turns",
        "{load_waves} load and {math_waves} math waves for m_per_block {m_per_block}, m_per_xdl {m_per_xdl}",
        "leave `wave_ratio` out, or use [2, 2] for m_per_block 64 and [2, 4] for 128",
        "wgmma is executed by warpgroups of 128 threads, each with its own 64 rows or 128; one thread issues all"
        " copies.",
        ("wave_ratio", "tile"),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-registers",
        "tile",
        "(warpgroups == 1 and acc_registers + 40 <= 255) or (warpgroups != 1 and acc_registers + 40 <= 232)",
        "accumulators and 40 other registers fit a thread",
        "{acc_registers} accumulator registers a thread, and 40 others",
        "use a smaller n_per_block",
        "A thread has at most 255 registers; two math warpgroups beside a load warpgroup can be given 232"
        " each by setmaxnreg.",
        ("tile",),
        TMA_FAMILIES,
    ),
    Rule(
        "tma-atom",
        "arch",
        "has_atom",
        "the architecture has wgmma and bulk tensor copies",
        "{arch} has no wgmma",
        "leave `archs` out: {family} is for sm_90a, on platform nvidia",
        "wgmma exists on Hopper (sm_90a) only: earlier GPUs have mma.sync, later ones tcgen05.",
        ("archs", "dtype"),
        COPY_FAMILIES,
    ),
)
