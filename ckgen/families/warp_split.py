"""Family warp_split: small products of 1x1 filters, as on images of one position, and weights of few input channels.

The warps of a workgroup share a tile and take parts of GEMM-K in turn. They load operands from global memory to the
registers of mma.sync, in vectors as wide as the tensors' alignment allows, and the input under filters of several taps
by single elements; shared memory has only their sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.families.bulk_copy import BLOCK_SIZE, C_BYTES, ELEM_BYTES, LAUNCH_THREADS, NDIM, WAVE
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.rule import Rule
from ckgen.families.rules.shared import LDS_BYTES
from ckgen.families.tile_cost import TileBytes
from ckgen.families.vectors import Shape, Width, k_major
from ckgen.families.warp_mma import ATOM, REGISTERS, WarpMma, atom_rule
from ckgen.families.warp_mma import REASONS as MMA_REASONS
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

WARPS = 8  # by which k_per_block is chosen, as block_size 256 has
PLANE_VECTOR = 4  # positions: 8 bytes
OTHER_REGISTERS = 48  # of a lane, for addresses and other values

DERIVED = (
    NDIM,
    ELEM_BYTES,
    AS_STORED,
    C_BYTES,
    BLOCK_SIZE,
    LAUNCH_THREADS,
    Value("warps", "Warps of a workgroup, which share its tile.", "block_size // 32"),
    Value("acc_registers", "Accumulator registers per lane.", "m_per_block * n_per_block // 32"),
    Value(
        "load_registers",
        "Registers per lane for the elements that are multiplied and for those that are loaded meanwhile.",
        "(m_per_block + n_per_block) * (k_per_block // warps) // 32",
    ),
    Value(
        "lds_bytes",
        "Bytes of LDS a workgroup allocates: for the sums of all warps.",
        "warps * m_per_block * (n_per_block + 4) * 4",
    ),
    WAVE,
)
REASONS = {
    **MMA_REASONS,
    "k_per_block": f"by rule: one step of each of {WARPS} warps",
    "stages": "by rule: operands stay in registers",
    "slot": "by rule: vectors are chosen when the kernel runs",
}
RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    Rule(
        id="warp-split-dtype",
        scope="domain",
        condition="elem_bytes == 2 and as_stored == 1",
        sentence="tensors are f16 or bf16, multiplied as they are",
        message="{family} has no {dtype} instances",
        help="use f16 or bf16, or family xdl",
        reason="Registers are filled with pairs of elements as mma.sync m16n8k16 takes them.",
        blame=("dtype",),
    ),
    Rule(
        id="warp-split-spec",
        scope="domain",
        condition=(
            "not generic and ((channels_last and (pointwise or (a_k_major == 0 and b_k_major == 0)))"
            " or (pointwise and a_k_major and b_k_major))"
        ),
        sentence=(
            "conv_spec is Filter1x1Stride1Pad0 with the channels last, or in backward weight the positions; or it is"
            " Default in backward weight with the channels last; the instance is not generic"
        ),
        message="conv_spec {conv_spec} and layout {layout} for family {family}",
        help="use conv_spec Filter1x1Stride1Pad0 and a layout like NHWGC, and leave `generic` out",
        reason=(
            "Rows of the operands are positions at a constant distance, or channels with neighbouring positions. Only"
            " backward weight with the channels last gathers the input under other filters."
        ),
        blame=("conv_spec", "layout", "generic"),
    ),
    Rule(
        id="warp-split-waves",
        scope="domain",
        condition="load_waves == 0 and math_waves >= 1 and launch_threads <= 1024 and m_per_xdl == 16 and stages == 1",
        sentence="every wave loads and multiplies, by atoms of 16 rows, without a ring of stages",
        message="{load_waves} load and {math_waves} math waves, m_per_xdl {m_per_xdl}, {stages} stages",
        help="leave `m_per_xdl` and `stages` out; use a block_size such as 256",
        reason="Each warp takes its own part of GEMM-K from global memory to registers.",
        blame=("block_size", "m_per_xdl", "stages"),
    ),
    Rule(
        id="warp-split-vectors",
        scope="domain",
        condition=(
            "c_vector == 1 and ((a_k_major and b_k_major and a_vector == 4 and b_vector == 4)"
            " or ((a_k_major == 0 or b_k_major == 0) and a_vector == 1 and b_vector == 1))"
        ),
        sentence="vectors of A and B have four positions where these are contiguous; all others have one element",
        message="vectors {a_vector}x{b_vector}x{c_vector}",
        help="leave `vector` out",
        reason="The kernel chooses vectors of up to 16 bytes by the tensors' alignment, of planes at least 8 bytes.",
        blame=("vector",),
    ),
    Rule(
        id="warp-split-tile",
        scope="tile",
        condition=(
            "(m_per_block == 16 or m_per_block == 32 or m_per_block == 64)"
            " and (n_per_block == 32 or n_per_block == 64 or (n_per_block == 16 and b_k_major))"
            " and (k_per_block == 16 * warps or k_per_block == 32 * warps)"
            " and (a_k_major or k_per_block == 16 * warps)"
            " and (b_k_major or a_k_major == 0 or k_per_block == 32 * warps)"
        ),
        sentence=(
            "the tile has 16, 32 or 64 rows and 32 or 64 columns, or 16 where both operands are K-major; k_per_block is"
            " 16 or 32 terms per warp: 32 in backward data, 16 in backward weight with the channels last"
        ),
        message="the tile is {m_per_block}x{n_per_block}x{k_per_block} for {warps} warps",
        help="use a tile such as 16x32, and leave k_per_block out for block_size 256",
        reason="A lane loads 8 or 16 neighbouring bytes; mma.sync takes 16 rows, 8 columns and 16 of GEMM-K.",
        blame=("tile", "k_per_block", "block_size"),
    ),
    Rule(
        id="warp-split-registers",
        scope="instance",
        condition=(
            f"acc_registers + load_registers + {OTHER_REGISTERS} <= 255"
            f" and block_size * (acc_registers + load_registers + {OTHER_REGISTERS}) <= {REGISTERS}"
        ),
        sentence="the sums of a lane and what it loads fit its registers",
        message="{acc_registers} accumulators and {load_registers} loaded registers per lane, {block_size} threads",
        help="use a smaller tile or block_size",
        reason=f"A lane has 255 registers, a multiprocessor 65536; {OTHER_REGISTERS} of a lane are for other values.",
        blame=("tile", "block_size"),
    ),
    atom_rule("warp-split"),
)


def _planes(known: Shape | Fields) -> bool:
    """True if both operands are K-major: the weight's gradient with positions side by side."""
    return k_major(known, "a") and k_major(known, "b")


@dataclass(frozen=True, kw_only=True, eq=False)
class WarpSplit(WarpMma):
    """The family warp_split."""

    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return WARPS * ATOM * (2 if operation == BWD_DATA else 1)

    def splits(self, instance: Fields) -> bool:
        return _planes(instance) or not instance.pointwise

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        rule = (PLANE_VECTOR, PLANE_VECTOR, 1) if _planes(shape) else (1, 1, 1)
        a, b, c = (width if isinstance(width, int) else own for width, own in zip(wanted, rule, strict=True))
        return a, b, c

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        return self.reason("slot")

    def stages(self, instance: Fields) -> int:
        return 1

    def registers(self, instance: Fields) -> int:
        return instance.acc_registers + instance.load_registers + OTHER_REGISTERS

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """A step loads its part of both operands to registers."""
        loaded = (instance.m_per_block + instance.n_per_block) * instance.k_per_block * instance.elem_bytes
        return TileBytes(0, 0, loaded)


WARP_SPLIT = WarpSplit(
    name="warp_split",
    summary="small products of 1x1 filters and weights of few channels, whose warps share GEMM-K",
    operations=(BWD_WEIGHT, BWD_DATA),
    struct="WarpSplit",
    header="warp_split",
)
