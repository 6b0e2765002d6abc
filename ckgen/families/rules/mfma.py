"""The rules of families xdl and wavelet, in the order in which they are reported.

The rules about copies to LDS are in ckgen.families.rules.mfma_copy.
"""

from __future__ import annotations

from ckgen.families.rule import Rule
from ckgen.families.rules.exchange import EXCHANGE_RULES
from ckgen.families.rules.mfma_copy import COPY_RULES, SLOT_COVER
from ckgen.families.rules.shared import LDS_BYTES
from ckgen.operations.operation import BWD_DATA

RULES: tuple[Rule, ...] = (
    Rule(
        id="wave-count",
        scope="domain",
        condition=(
            "(math_waves == 1 or math_waves == 2 or math_waves == 4 or math_waves == 8)"
            " and load_waves >= 0 and load_waves <= 8 and launch_threads <= 1024"
        ),
        sentence="1, 2, 4 or 8 waves do matrix work, at most 8 waves load, a workgroup has at most 1024 threads",
        message="{load_waves} load and {math_waves} math waves make {launch_threads} threads",
        help="math waves: 1, 2, 4 or 8; load waves: 0 to 8; {wave_size} threads per wave, at most 1024 per workgroup",
        reason="Math waves tile M x N as a grid of powers of two; HIP launches at most 1024 threads per workgroup.",
        blame=("wave_ratio", "block_size", "tile"),
    ),
    Rule(
        id="xdl-size",
        scope="domain",
        condition="m_per_xdl == 32 or m_per_xdl == 16",
        sentence="matrix atoms are 32x32 or 16x16",
        message="m_per_xdl is {m_per_xdl}",
        help="use 32 or 16",
        reason="The square MFMA shapes with one block and full rate are 32x32 and 16x16.",
        blame=("m_per_xdl",),
    ),
    Rule(
        id="stages-range",
        scope="domain",
        condition=(
            "(load_waves == 0 and stages >= 1 and stages <= 2) or (load_waves > 0 and (stages == 2 or stages == 4))"
        ),
        sentence="xdl keeps 1 or 2 LDS buffers, wavelet 2 or 4",
        message="{stages} stages for family {family}",
        help="use 1 or 2 for xdl, 2 or 4 for wavelet",
        reason=(
            "The wavelet ring has two halves, one being filled and one being multiplied; where every wave loads,"
            " registers are the second buffer."
        ),
        blame=("stages",),
    ),
    Rule(
        id="pipeline-version",
        scope="domain",
        condition=(
            "pipeline_version == 0 or (pipeline_version >= 1 and pipeline_version <= 5 and not generic"
            " and (stages == 1 or pipeline_version == 4) and (stages == 2 or pipeline_version != 4))"
        ),
        sentence="pipelines are v1 to v5, of instances that are not generic; v4 has two LDS buffers, the others one",
        message="pipeline v{pipeline_version} with {stages} LDS buffers",
        help="leave `stages` out, and `pipeline_version` in a generic group",
        reason="The pipelines differ in the number of tiles in registers and in LDS; the portable atom has one loop.",
        blame=("pipeline_version", "stages", "generic"),
    ),
    Rule(
        id="pipeline-operation",
        scope="domain",
        condition="pipeline_version == 0",
        sentence="CK's pipelines are those of backward weight",
        message="pipeline v{pipeline_version} of backward data",
        help="leave `pipeline_version` out",
        reason="CK's class with pipelines, CShuffleV3, sums weights.",
        blame=("pipeline_version",),
        operations=(BWD_DATA,),
    ),
    Rule(
        id="scheduler-pipeline",
        scope="domain",
        condition="not interwave or pipeline_version == 1 or pipeline_version == 2",
        sentence="the scheduler Interwave exists for pipelines v1 and v2",
        message="Interwave with pipeline v{pipeline_version}",
        help="use Intrawave, or pipeline v1 or v2",
        reason="Waves that multiply in turns read their operands from LDS between turns, which v3 to v5 do ahead.",
        blame=("scheduler", "pipeline_version"),
    ),
    Rule(
        id="groups-to-merge",
        scope="domain",
        condition="groups_to_merge == 1 or (groups_to_merge <= 32 and not groups_outermost and not generic)",
        sentence="at most 32 groups are merged, of a layout whose images hold them side by side, as NHWGC or NGCHW",
        message="{groups_to_merge} merged groups of {layout}",
        help="use 1 to 32 groups and a layout like NHWGC/GKYXC/NHWGK or NGCHW/GKCYX/NGKHW",
        reason=(
            "The channels of neighbouring groups are then as far apart as those of one group, so that they are the"
            " channels of one product. Backward data multiplies the weights of other groups as zeros."
        ),
        blame=("groups_to_merge", "layout", "generic"),
    ),
    *EXCHANGE_RULES,
    Rule(
        id="transpose-widths",
        scope="domain",
        condition=(
            "transpose_dst == 0 or (a_k_major and b_k_major"
            # nvcc evaluates both sides of `or` and warns if one divides by 0
            " and 16 % (transpose_dst * elem_bytes + (transpose_dst == 0)) == 0"
            " and 16 % (transpose_vector * elem_bytes + (transpose_vector == 0)) == 0"
            " and 16 % (transpose_lds * elem_bytes + (transpose_lds == 0)) == 0)"
        ),
        sentence="CK transposes tensors whose positions are contiguous, in powers of two of at most 16 bytes",
        message=(
            "`transpose` of {transpose_dst}, {transpose_vector} and {transpose_lds} elements of {elem_bytes} bytes,"
            " layout {layout}"
        ),
        help="leave `transpose` out, or use a layout like NGCHW/GKYXC/NGKHW and widths of at most 16 bytes",
        reason="The key exists for rows of CK, whose class transposes only such tensors.",
        blame=("transpose", "layout"),
    ),
    Rule(
        id="vector-width",
        scope="domain",
        condition=(
            "(16 % (a_vector * elem_bytes) == 0 or a_vector * elem_bytes == 32)"
            " and (16 % (b_vector * elem_bytes) == 0 or b_vector * elem_bytes == 32)"
            " and (elem_bytes == 4 or (a_vector * elem_bytes <= 16 and b_vector * elem_bytes <= 16))"
        ),
        sentence="a read of A or B is a power of two of elements and at most 16 bytes, or 32 of 4-byte elements",
        message="vectors of {a_vector} (A) and {b_vector} (B) elements of {elem_bytes} bytes",
        help="use powers of two up to 16 bytes",
        reason="An instruction moves at most 16 bytes per lane; only CK's widest row of f32 takes two of them.",
        blame=("vector", "tile"),
    ),
    Rule(
        id="c-vector",
        scope="domain",
        condition="16 % (c_vector * c_bytes) == 0 and n_per_block % c_vector == 0",
        sentence="a global write of C is a power of two of elements, at most 16 bytes, and divides a row of the tile",
        message="c vector {c_vector} of {c_bytes}-byte elements, n_per_block {n_per_block}",
        help="use a power of two up to 16 bytes that divides n_per_block",
        reason="The widest vector memory instruction moves 16 bytes per lane; no vector may cross a row of the tile.",
        blame=("vector", "tile"),
    ),
    Rule(
        id="generic-vectors",
        scope="domain",
        condition=(
            "not generic or (a_vector == 1 and b_vector == 1 and c_vector == 1 and load_waves == 0 and not pointwise)"
        ),
        sentence="a generic instance is of family xdl, takes any filter and reads and writes single elements",
        message="a generic {family} instance, conv_spec {conv_spec}, vectors {a_vector}x{b_vector}x{c_vector}",
        help="leave vector and conv_spec to their defaults in a generic group of family xdl",
        reason="Only single elements divide every C and K; only Default takes every filter, stride and padding.",
        blame=("vector", "conv_spec", "generic", "family"),
    ),
    Rule(
        id="wavelet-dtype",
        scope="domain",
        condition="load_waves == 0 or (elem_bytes == 2 and compute_bytes == 2 and c_bytes == 2)",
        sentence="wavelet exists for f16 and bf16",
        message="wavelet has no {dtype} instances",
        help="use f16 or bf16, or family xdl",
        reason="f32 atoms take so long that index arithmetic hides behind them without load waves.",
        blame=("dtype",),
    ),
    Rule(
        id="tile-m-waves",
        scope="tile",
        condition="m_per_block % (m_waves * m_per_xdl) == 0",
        sentence="m_per_block is a whole number of atoms for each of the m_waves",
        message="m_per_block {m_per_block} is not a multiple of {m_waves} x {m_per_xdl} (m_waves x m_per_xdl)",
        help="m_per_block must be a multiple of m_waves x m_per_xdl",
        reason="A wave computes whole matrix atoms, and all math waves of a workgroup the same number.",
        blame=("tile", "block_size", "wave_ratio", "m_per_xdl"),
    ),
    Rule(
        id="tile-n-waves",
        scope="tile",
        condition="n_per_block % (n_waves * m_per_xdl) == 0",
        sentence="n_per_block is a whole number of atoms for each of the n_waves",
        message="n_per_block {n_per_block} is not a multiple of {n_waves} x {m_per_xdl} (n_waves x m_per_xdl)",
        help="n_per_block must be a multiple of n_waves x m_per_xdl",
        reason="A wave computes whole matrix atoms, and all math waves of a workgroup the same number.",
        blame=("tile", "block_size", "wave_ratio", "m_per_xdl"),
    ),
    Rule(
        id="k-per-block-step",
        scope="tile",
        condition="k_per_block % k_step == 0",
        sentence="k_per_block is a whole number of atom steps (k_step)",
        message="k_per_block {k_per_block} is not a multiple of {k_step} (k_step)",
        help="k_step is what one step of a wave covers: 16 bytes for each of {wave_size} / m_per_xdl lane groups",
        reason="A lane reads 16 bytes of GEMM-K from LDS at once; a wave's lane groups lie side by side along it.",
        blame=("k_per_block", "tile", "m_per_xdl"),
    ),
    *COPY_RULES,
    Rule(
        id="c-tile-cover",
        scope="instance",
        condition=(
            "(epilogue_rows * n_per_block) % (c_vector * block_size) == 0"
            " or (c_vector * block_size) % (epilogue_rows * n_per_block) == 0"
        ),
        sentence="the math threads store the rows of one epilogue step evenly, or a whole fraction of them does",
        message="{block_size} threads x {c_vector} elements do not fit {epilogue_rows} rows of {n_per_block}",
        help="use another c vector or a tile whose n_per_block is a power of two",
        reason="A branch-free epilogue gives every thread that stores the same number of vectors.",
        blame=("vector", "tile", "block_size", "wave_ratio"),
    ),
    Rule(
        id="register-budget",
        scope="instance",
        condition="vgpr_estimate <= vgpr_budget",
        sentence="the estimated registers of a lane fit what the launched waves leave it",
        message="about {vgpr_estimate} registers per lane, {vgpr_budget} are available",
        help="use a smaller tile, or other waves",
        reason="A SIMD of gfx90a and later has 512 registers per lane for all its waves; more than the share spills.",
        blame=("tile", "block_size", "wave_ratio", "k_per_block"),
    ),
    LDS_BYTES,
    Rule(
        id="atom-exists",
        scope="arch",
        condition="has_atom or generic",
        sentence="the architecture has an MFMA for the data type and atom size",
        message="{arch} has no {m_per_xdl}x{m_per_xdl} MFMA for {dtype}",
        help="take the architecture out of archs; the generic instances serve it",
        reason="The kernels are written for MFMA; elsewhere only the portable multiply-add atom runs.",
        blame=("archs", "m_per_xdl", "dtype"),
    ),
    Rule(
        id="channels-first-vectors",
        scope="domain",
        condition=(
            "(a_channels_last or a_vector == 1 or a_k_major or pointwise or (c_m_major and elem_bytes > 1))"
            " and (b_channels_last or b_vector == 1 or pointwise or not b_k_major or (elem_bytes > 1 and k1 > 1))"
        ),
        sentence=(
            "where channels do not come last, an operand that filter taps shift is read one element at a time,"
            " unless the filter is 1x1 with stride 1 and no padding, or the operand is the input of backward weight or"
            " the output of backward data, in elements of at least 16 bits. Vectors of the weight of backward data are"
            " read in a copy with its channels last, which a kernel before the main one makes in the workspace"
        ),
        message="vectors of {a_vector} (A) and {b_vector} (B) elements, layout {layout}, conv_spec {conv_spec}",
        help="give `vector` 1 for that operand, or take Filter1x1Stride1Pad0 or a layout with the channels last",
        reason=(
            "Positions are contiguous in a layout like NGCHW, and a tap shifts them to any alignment and into the"
            " padding. Only backward weight reads its output without taps. Its input may be read in vectors where the"
            " output is as large and the stride 1: the problem decides. Backward data counts the rows of an image in"
            " whole vectors of its output. Taps part the channels of a GKCYX weight, which is small and quickly copied."
        ),
        blame=("vector", "layout", "conv_spec"),
    ),
    Rule(
        id="channels-first-writes",
        scope="domain",
        condition=(
            "c_channels_last or c_vector == 1 or (b_k_major and not c_m_major)"
            " or (c_m_major and a_vector == 1 and 4 * wave_size % (m_per_xdl * c_vector) == 0)"
        ),
        sentence=(
            "a C whose positions are contiguous is written in vectors only if A is read one element at a time,"
            " in vectors that divide the rows of four accumulator registers of a wave"
        ),
        message="vectors of {a_vector} (A) and {c_vector} (C) elements, layout {layout}",
        help="give `vector` a: 1 or c: 1",
        reason=(
            "A vector of C is neighbouring rows of the tile, which vectors of A permute in LDS. A weight in the"
            " order GKCYX is written in vectors if columns can have its order: if the input is K-major."
        ),
        blame=("vector", "layout"),
    ),
    *SLOT_COVER,
    Rule(
        id="b-slot-planes",
        scope="instance",
        condition="not b_k_major or planes <= 32",
        sentence="a tile of a K-major B has at most 32 slots along GEMM-K",
        message="k_per_block {k_per_block} is {planes} slots of {k1} elements",
        help="use a smaller k_per_block",
        reason="A wave computes the offsets of a tile's rows one row per lane; a lane holds rows of one slot.",
        blame=("k_per_block", "tile"),
    ),
)
