"""Family streaming: backward data of 1x1 filters whose weight fits shared memory, without copies of other tensors.

Warps load the output from global memory to the registers of mma.sync and store the results from there; only the weight
passes through shared memory. `tile` is the positions that a workgroup computes at once by the channels that it sums at
once; `stages` are the tiles of the weight that shared memory holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.bulk_copy import BLOCK_SIZE, C_BYTES, ELEM_BYTES, LAUNCH_THREADS, NDIM, WAVE
from ckgen.families.counts import ceil_div
from ckgen.families.family import Coverage
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.rule import Rule
from ckgen.families.rules.shared import LDS_BYTES
from ckgen.families.tile_cost import TileBytes
from ckgen.families.vectors import ACCESS_BYTES, Shape, Width, small
from ckgen.families.warp_mma import REASONS as MMA_REASONS
from ckgen.families.warp_mma import REGISTERS, WarpMma, atom_rule
from ckgen.operations.operation import BWD_DATA

KIB_OF_WEIGHT = 64  # of shared memory by rule: three workgroups fit a multiprocessor
SHARED = 228 * 1024  # bytes per multiprocessor of Hopper; 1 KiB per workgroup is reserved

DERIVED = (
    NDIM,
    ELEM_BYTES,
    AS_STORED,
    C_BYTES,
    BLOCK_SIZE,
    LAUNCH_THREADS,
    Value("warps", "Warps of a workgroup, which compute on their own.", "block_size // 32"),
    Value("warp_positions", "Positions that a warp computes at once.", "m_per_block // max(1, warps)"),
    Value("acc_registers", "Accumulator registers per lane.", "warp_positions * n_per_block // 32"),
    Value(
        "load_registers",
        "Registers per lane for the elements that are multiplied and for those that are loaded meanwhile.",
        "2 * (warp_positions * k_per_block * elem_bytes // 128)",
    ),
    Value(
        "other_registers",
        "Registers per lane for addresses and other values; the compiler keeps to them without spills, in full f32 with"
        " a few.",
        "48 if a_k_major else 32",
    ),
    Value("lds_bytes", "Bytes of LDS a workgroup allocates: for the weight.",
          "stages * k_per_block * n_per_block * elem_bytes"),
    Value(
        "resident",
        "Workgroups per multiprocessor, by registers and the shared memory of Hopper.",
        f"max(1, min({REGISTERS} // (block_size * (acc_registers + load_registers + other_registers)),"
        f" {SHARED} // (lds_bytes + 1024)))",
    ),
    WAVE,
)  # fmt: skip
REASONS = {
    **MMA_REASONS,
    "k_per_block": "by rule: 128 bytes of channels of the output per step",
    "stages": f"by rule: {KIB_OF_WEIGHT} KiB of the weight",
    "slot": "by rule: 16 bytes, the widest global access",
}
RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    Rule(
        id="streaming-dtype",
        scope="domain",
        condition="(elem_bytes == 2 and as_stored == 1) or elem_bytes == 4",
        sentence="tensors are f16 or bf16, multiplied as they are, or f32",
        message="{family} has no {dtype} instances",
        help="use f16, bf16, f32 or f32_comp_tf32, or family xdl",
        reason="Registers are filled with the elements that mma.sync takes: pairs of 16 bits, or numbers of tf32.",
        blame=("dtype",),
    ),
    Rule(
        id="streaming-spec",
        scope="domain",
        condition="pointwise and not generic",
        sentence="conv_spec is Filter1x1Stride1Pad0 and the instance not generic",
        message="{family} has no generic instances and no conv_spec {conv_spec}",
        help="use conv_spec Filter1x1Stride1Pad0 and leave `generic` out",
        reason="Rows of the product are the positions in memory order, so that lanes load whole vectors of them.",
        blame=("conv_spec", "generic"),
    ),
    Rule(
        id="streaming-waves",
        scope="domain",
        condition="load_waves == 0 and math_waves >= 1 and launch_threads <= 1024 and m_per_xdl == 16",
        sentence="every wave loads and multiplies, by atoms of 16 rows; a workgroup has at most 1024 threads",
        message="{load_waves} load and {math_waves} math waves, m_per_xdl {m_per_xdl}",
        help="leave `m_per_xdl` out; use a block_size such as 256",
        reason="Each warp streams its own positions through mma.sync.",
        blame=("block_size", "m_per_xdl"),
    ),
    Rule(
        id="streaming-vectors",
        scope="domain",
        condition=(
            "(a_vector * elem_bytes == 4 or a_vector * elem_bytes == 8 or a_vector * elem_bytes == 16)"
            " and ((channels_last and (c_vector * elem_bytes == 4 or c_vector * elem_bytes == 8"
            " or c_vector * elem_bytes == 16)) or a_vector == c_vector)"
        ),
        sentence="A and C have vectors of 4, 8 or 16 bytes, equal ones with positions side by side",
        message="vectors {a_vector}x{b_vector}x{c_vector} with layout {layout}",
        help="leave `vector` out, or give a and c 4 for positions or channels in multiples of 4",
        reason="A lane keeps what it loads in its registers, and stores results of the same places.",
        blame=("vector", "layout"),
    ),
    Rule(
        id="streaming-weight-vector",
        scope="tile",
        condition=(
            "(b_vector == 1 or b_vector == 2 or b_vector == 4 or b_vector == 8) and b_vector * elem_bytes <= 16"
            " and n_per_block % b_vector == 0"
        ),
        sentence="vectors of B have 1, 2, 4 or 8 elements, 16 bytes at most, and divide the tile's channels",
        message="vectors of {b_vector} channels of the weight and n_per_block {n_per_block}",
        help="leave `vector` out",
        reason="The widest access of a lane has 16 bytes.",
        blame=("vector", "tile"),
    ),
    Rule(
        id="streaming-tile",
        scope="tile",
        condition=(
            "(channels_last and m_per_block % (16 * warps) == 0 and m_per_block >= 16 * warps"
            " and n_per_block * elem_bytes % 64 == 0 and n_per_block >= 16"
            " and k_per_block * elem_bytes % 64 == 0 and k_per_block >= 16)"
            " or (not channels_last and m_per_block == 8 * a_vector * warps and n_per_block % 16 == 0"
            " and n_per_block >= 16 and k_per_block % 16 == 0 and k_per_block >= 16)"
        ),
        sentence=(
            "with the channels last the tile has multiples of 16 positions per warp, of 64 bytes of channels and of 64"
            " bytes of GEMM-K; else 8 vectors of positions per warp, and multiples of 16 channels and of 16 of GEMM-K"
        ),
        message="the tile is {m_per_block}x{n_per_block}x{k_per_block} for {warps} warps and vectors of {a_vector}",
        help="for block_size 256 use a tile such as 256x32; with positions side by side 512x32, in vectors of 4 256x32",
        reason="mma.sync takes 16 rows, 8 columns and 32 bytes of GEMM-K; a lane accesses 16 neighbouring bytes.",
        blame=("tile", "k_per_block", "vector", "block_size"),
    ),
    Rule(
        id="streaming-registers",
        scope="instance",
        condition=(
            "stages >= 1 and acc_registers + load_registers <= 192"
            f" and block_size * (acc_registers + load_registers + other_registers) <= {REGISTERS}"
        ),
        sentence="the sums of a lane and what it loads fit its registers, and shared memory has a tile of the weight",
        message="{acc_registers} accumulators and {load_registers} loaded registers per lane, {stages} stages",
        help="use a smaller tile or k_per_block",
        reason="A lane has 255 registers, a multiprocessor 65536; 32 to 48 of a lane are for other values.",
        blame=("tile", "k_per_block", "stages"),
    ),
    atom_rule("streaming"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Streaming(WarpMma):
    """The family streaming."""

    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return 128 // DTYPES[dtype].elem_bytes

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        full = ACCESS_BYTES // DTYPES[shape.dtype].elem_bytes
        a, b, c = (width if isinstance(width, int) else small(shape) if width == "small" else full for width in wanted)
        return a, b, c

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        return self.reason(word if isinstance(word, str) else "slot")

    def stages(self, instance: Fields) -> int:
        return max(1, KIB_OF_WEIGHT * 1024 // (instance.k_per_block * instance.n_per_block * instance.elem_bytes))

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True if shared memory holds the weight of a group."""
        tiles = ceil_div(problem.k, instance.k_per_block) * ceil_div(problem.c, instance.n_per_block)
        return tiles <= instance.stages and super().takes(instance, problem)

    def coverage(self, instance: Fields) -> Coverage:
        """A tile that reads only the output per term of its sums."""
        return Coverage(instance.m_per_block, instance.n_per_block, instance.m_per_block)

    def registers(self, instance: Fields) -> int:
        return instance.acc_registers + instance.load_registers + instance.other_registers

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """Each warp reads the tile of the weight; a step loads the tile of the output."""
        weight = instance.n_per_block * instance.k_per_block * instance.elem_bytes
        return TileBytes(instance.warps * weight, 0, instance.m_per_block * instance.k_per_block * instance.elem_bytes)


STREAMING = Streaming(
    name="streaming",
    summary="1x1 filters of few channels, from global memory to registers",
    operations=(BWD_DATA,),
    own_sums=(BWD_DATA,),
    struct="Streaming",
    header="streaming",
)
