"""Family halo: 3x3 filters with few channels on Hopper; all taps read the same rows in shared memory.

If m_per_xdl is 64, three warpgroups multiply by wgmma, one per row of the filter; otherwise warps multiply by mma.sync.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families import halo_cost
from ckgen.families.bulk_copy import (
    BLOCK_SIZE,
    C_BYTES,
    ELEM_BYTES,
    LAUNCH_THREADS,
    LOAD_WAVES,
    MAX_STAGES,
    NDIM,
    SHARED_BYTES,
    WAVE,
    WGMMA_ROWS,
    BulkCopy,
    in_units,
    reads_units,
)
from ckgen.families.family import Coverage
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.halo_cost import CHANNEL_BYTES, CHANNELS
from ckgen.families.rule import Rule
from ckgen.families.rules.halo import RULES
from ckgen.families.tile_cost import Code, Work
from ckgen.hardware.compute_units import Rates
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT, OPERATIONS

ATOM = (16, 8, 16)  # m, n and k of mma.sync; with fewer than m channels, the nine taps share atoms in pairs
COLUMNS = 32  # columns per warp in backward data, where channels are the columns of the atom
WARPGROUPS = 3  # with wgmma, one per row of the filter
MATH_WARPS = 8  # the most that leave each warp the registers for 180 accumulators
FILTER = 3

DERIVED = (
    NDIM,
    ELEM_BYTES,
    AS_STORED,
    C_BYTES,
    BLOCK_SIZE,
    LAUNCH_THREADS,
    # With wgmma each warpgroup owns one row of the filter and accumulates its taps side by side. Backward data
    # accumulates input positions.
    Value(
        "acc_registers",
        "Accumulator registers per lane; a warpgroup of 128 threads holds m_per_xdl rows of the tile.",
        f"3 * m_per_block // 2 if m_per_xdl == {WGMMA_ROWS}"
        f" else k_per_block * {CHANNEL_BYTES} // elem_bytes // block_size if a_k_major"
        f" else (5 if n_per_block < {ATOM[0]} else 9) * (m_per_block // {ATOM[1]}) * 4",
    ),
    Value(
        "lds_bytes",
        "Bytes of LDS a workgroup allocates; the epilogue reuses the stages' memory.",
        f"{SHARED_BYTES}",
    ),
    Value(
        "groups_per_block",
        "Groups whose channels one workgroup of family halo has beside each other.",
        f"{CHANNEL_BYTES} // elem_bytes // n_per_block * groups_to_merge",
    ),
    # The rows of the atom, or fewer if two taps share it; in backward data, the columns per warp.
    Value(
        "unit_channels",
        "Input channels of one warp.",
        f"{COLUMNS} if a_k_major else max(1, min(n_per_block, {ATOM[0]}))",
    ),
    Value("units", "Warps that a workgroup's channels need.", f"{CHANNEL_BYTES} // elem_bytes // unit_channels"),
    Value(
        "shares",
        "Parts into which the positions of a step are dealt: units x shares warps do the matrix work.",
        f"k_per_block // {ATOM[2]}",
    ),
    Value("out_pitch", "Bytes of an output position in shared memory.", f"{CHANNELS} // n_per_block * m_per_block * 2"),
    Value(
        "lds_products_bytes",
        "Bytes of the products of all shares, as they pass through shared memory at the end; none with wgmma, or in"
        " backward data.",
        f"0 if a_k_major or m_per_xdl == {WGMMA_ROWS} else shares * out_pitch // 2 * (9 * n_per_block + 4) * 4",
    ),
    WAVE,
)
REASONS = {
    "k_per_block": "by rule: 16 positions for each share of eight warps, with wgmma 16",
    "m_per_xdl": "by rule: mma.sync's atom has 16 rows; wgmma's has 64, the channels of a group's tile",
    "load_waves": "by rule: one warpgroup of two waves",
    "math_waves": "by rule: a warp for each unit of channels and share of positions, with wgmma a warpgroup"
    " of two waves for each row of the filter",
    "stages": "by rule: at most 6; how many fit follows from the problem",
    "vector": "by rule: 16 bytes of A and of B, four weights, in backward data 16 bytes",
}


def unit_channels(operation: str, n_per_block: int) -> int:
    """Input channels of one warp; usable before the instance exists."""
    return COLUMNS if OPERATIONS[operation].a_k_major else max(1, min(n_per_block, ATOM[0]))


@dataclass(frozen=True, kw_only=True, eq=False)
class Halo(BulkCopy):
    """The family halo: a workgroup covers 128 bytes of input channels, of whole groups or of one, and all taps."""

    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)
    struct: str = "Halo"
    header: str = "halo"

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        if n_per_block == CHANNELS:
            return ATOM[2]
        units = CHANNEL_BYTES // DTYPES[dtype].elem_bytes // unit_channels(operation, n_per_block)
        return ATOM[2] * max(1, MATH_WARPS // units)

    def m_per_xdl(self, n_per_block: int) -> int:
        return WGMMA_ROWS if n_per_block == CHANNELS else ATOM[0]

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        _, n, k = extents
        if n == CHANNELS:
            return LOAD_WAVES, 2 * WARPGROUPS
        if OPERATIONS[operation].a_k_major:
            return LOAD_WAVES, MATH_WARPS // 2
        return LOAD_WAVES, max(1, CHANNELS // unit_channels(operation, n) * (k // ATOM[2]) // 2)

    def stages(self, instance: Fields) -> int:
        return MAX_STAGES

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True for 3x3 filters with strides of 1 or 2 and with groups that fill a workgroup's channels."""
        if any(size != FILTER for size in problem.filter) or max(problem.strides) > 2:
            return False
        if instance.a_k_major:
            if len(set(problem.strides)) > 1 or (
                problem.strides[0] == 2 and any(d % 2 == 0 for d in problem.dilations)
            ):
                return False
            merged = instance.groups_to_merge
            return problem.k == problem.c == instance.n_per_block // merged and problem.groups % merged == 0
        if instance.m_per_xdl == WGMMA_ROWS and max(problem.strides) > 1:
            return False
        sizes = problem.c * instance.groups_to_merge, problem.k * instance.groups_to_merge
        beside = sizes == (instance.n_per_block, instance.m_per_block)
        return beside or instance.n_per_block == CHANNELS

    def coverage(self, instance: Fields) -> Coverage:
        """All taps. A tile of backward weight reads few values, so that its products take longer; backward data reads
        and writes each position once."""
        if instance.a_k_major:
            channels = halo_cost.channels(instance)
            return Coverage(
                instance.k_per_block,
                channels,
                2 * channels,
                all_taps=True,
                all_groups=True,
                groups=instance.groups_to_merge,
            )
        m = instance.m_per_block
        read = CHANNELS + m * (CHANNELS // instance.n_per_block)
        return Coverage(
            m,
            CHANNELS,
            read,
            macs=m * CHANNELS,
            all_taps=True,
            all_groups=True,
            groups=instance.groups_to_merge,
        )

    def splits(self, instance: Fields) -> bool:
        return not instance.a_k_major

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        return halo_cost.work(instance, problem, split_k, rates, self.matrix_rate(instance.dtype, rates))


HALO = Halo(
    name="halo",
    summary="Hopper's for 3x3 filters of few channels",
    operations=(BWD_WEIGHT, BWD_DATA),
    own_sums=(BWD_DATA,),
    merges_groups=(BWD_WEIGHT, BWD_DATA),
    widths={BWD_WEIGHT: reads_units(4), BWD_DATA: in_units},  # four weights are 16 bytes of f32
)
