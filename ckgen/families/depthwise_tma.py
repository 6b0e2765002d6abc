"""Family depthwise_tma: groups of one channel on Hopper; TMA copies each row of a tensor to shared memory once.

`tile` is the taps of a filter row that a warp multiplies by the groups of a workgroup; `stages` are the filter rows.
Backward weight takes larger filters too, in parts; backward data takes this filter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.bulk_copy import (
    BLOCK_SIZE,
    C_BYTES,
    ELEM_BYTES,
    LAUNCH_THREADS,
    NDIM,
    SHARED_BYTES,
    WAVE,
    BulkCopy,
)
from ckgen.families.counts import ceil_div
from ckgen.families.family import Coverage
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.rule import Rule
from ckgen.families.rules.depthwise import DEPTHWISE_DTYPE, DEPTHWISE_SPEC
from ckgen.families.rules.shared import COPY_ATOM, LDS_BYTES
from ckgen.families.tile_cost import Bound, Code, TileBytes, Work, slowest
from ckgen.families.vectors import Shape
from ckgen.hardware.compute_units import Rates
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

POSITION_BYTES = 128  # of the groups of a workgroup: one line of the cache, four bytes per lane
LANE_BYTES = 4
MATH_WAVES = {BWD_WEIGHT: 4, BWD_DATA: 8}
# Backward weight: positions of a tile of the cost model; a warp walks along up to 28 positions of a row. Backward data:
# positions of a row that a warp computes at once.
POSITIONS = {BWD_WEIGHT: 16, BWD_DATA: 8}

DERIVED = (
    NDIM,
    ELEM_BYTES,
    AS_STORED,
    C_BYTES,
    BLOCK_SIZE,
    LAUNCH_THREADS,
    Value(
        "acc_registers",
        "Registers per lane for each tap: of sums, in backward data of weights.",
        "a_vector * stages * m_per_block",
    ),
    Value("lds_bytes", "Bytes of LDS a workgroup allocates; the sums reuse the rings' memory.", f"{SHARED_BYTES}"),
    WAVE,
)
REASONS = {
    "k_per_block": "by rule: positions, which the cost model counts, and in backward data a warp computes, at a time",
    "m_per_xdl": "by rule: there is no matrix atom, a lane multiplies single values",
    "load_waves": "by rule: one thread of one wave issues all copies",
    "math_waves": "by rule: eight warps with up to 204 registers per thread, in backward data 16 with up to 120",
    "stages": "by rule: three filter rows",
    "vector": f"by rule: {LANE_BYTES} bytes of groups per lane; single weights",
}
RULES: tuple[Rule, ...] = (
    LDS_BYTES,
    DEPTHWISE_DTYPE,
    DEPTHWISE_SPEC,
    Rule(
        id="depthwise-tma-layout",
        scope="domain",
        condition="ndim == 2 and not groups_outermost and channels_last",
        sentence="the layout has two dimensions with the groups beside each other, as in NHWGC",
        message="{family} has no layout but NHWGC/GKYXC/NHWGK, in backward data NHWGK/GKYXC/NHWGC",
        help="use NHWGC/GKYXC/NHWGK, in backward data NHWGK/GKYXC/NHWGC, or family depthwise",
        reason="Rows of an image stream through shared memory, the channels of neighbouring groups side by side.",
        blame=("layout",),
    ),
    Rule(
        id="depthwise-tma-waves",
        scope="domain",
        condition="load_waves == 1 and (math_waves == 4 or math_waves == 8) and m_per_xdl == 1",
        sentence="one wave loads, four or eight multiply, and there is no matrix atom",
        message="{load_waves} load and {math_waves} math waves, m_per_xdl {m_per_xdl}",
        help="leave `m_per_xdl` and `wave_ratio` out, or use wave_ratio [1, 4]",
        reason="One thread issues all copies; eight warps can have the registers for large filters, 16 hide latency.",
        blame=("wave_ratio", "m_per_xdl"),
    ),
    Rule(
        id="depthwise-tma-tile",
        scope="tile",
        condition=(
            f"n_per_block * elem_bytes == {POSITION_BYTES} and a_vector * elem_bytes == {LANE_BYTES} and b_vector == 1"
            " and c_vector == 1"
        ),
        sentence="the tile has 64 groups of 16 bits or 32 of 32, a lane four bytes of them",
        message="the tile is {m_per_block}x{n_per_block} with vectors {a_vector}x{b_vector}x{c_vector}",
        help="use a tile such as 3x64, for f32 3x32, and leave `vector` out",
        reason="The 32 lanes of a warp read 128 bytes of a position, which are all banks of shared memory once.",
        blame=("tile", "vector"),
    ),
    Rule(
        id="depthwise-tma-registers",
        scope="instance",
        condition="m_per_block >= 1 and stages >= 1 and stages <= 9 and acc_registers <= 64",
        sentence="the sums of a lane and as many values of the input fit its registers",
        message="{m_per_block} taps of {stages} rows need {acc_registers} sums per lane",
        help="use fewer taps or `stages`; several warps share a larger filter",
        reason="A multiprocessor has 65536 registers for 320 threads.",
        blame=("tile", "stages"),
        operations=(BWD_WEIGHT,),
    ),
    Rule(
        id="depthwise-tma-data-registers",
        scope="instance",
        condition=(
            "m_per_block >= 1 and stages >= 1 and k_per_block >= 1"
            " and math_waves * (acc_registers + a_vector * (2 * k_per_block + m_per_block)) <= 784"
        ),
        sentence="the weights of a lane, and the values and sums of its positions, fit its registers",
        message="{acc_registers} weights and k_per_block {k_per_block} per lane of {math_waves} math waves",
        help="use a smaller filter or k_per_block, or wave_ratio [1, 4]",
        reason="A multiprocessor has 65536 registers for 288 or 544 threads.",
        blame=("tile", "stages", "k_per_block", "wave_ratio"),
        operations=(BWD_DATA,),
    ),
    COPY_ATOM,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class DepthwiseTma(BulkCopy):
    """The family depthwise_tma; its tiles are positions, and it multiplies by vector instructions."""

    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)
    single_channel: bool = True

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        return POSITIONS[operation]

    def m_per_xdl(self, n_per_block: int) -> int:
        return 1

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return 1, MATH_WAVES[operation]

    def stages(self, instance: Fields) -> int:
        return 3

    def home(self, dtype: str) -> Sequence[str]:
        return super().home("f16")  # f32 has no matrix atom there, and needs none

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return arch in self.home(instance.dtype)

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True for groups of one channel whose positions are multiples of 16 bytes, with a filter that the instance has
        registers for."""
        if problem.c != 1 or problem.k != 1 or problem.groups * instance.elem_bytes % 16:
            return False
        return _TAKES_FILTER[instance.operation](instance, problem)

    def coverage(self, instance: Fields) -> Coverage:
        """Single positions, each multiplied by a part of the filter; the part with the fewest taps comes first."""
        part = instance.stages, instance.m_per_block, instance.n_per_block
        return Coverage(1, 1, prod(part[:2]), 0, True, sweep=(*part, 1))

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """Traffic of k_per_block positions: each tensor passes once, those that are read through LDS."""
        tensor = instance.k_per_block * POSITION_BYTES
        through_lds, read = _READS[instance.operation](instance)
        return TileBytes(read * POSITION_BYTES, through_lds * tensor, 2 * tensor)

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        """The work of the busiest compute unit. A tile is k_per_block positions of all groups of a workgroup."""
        parts, taps = _parts(instance, problem), instance.m_per_block * instance.stages
        elements = instance.k_per_block * instance.n_per_block
        lanes = rates.simds * rates.wave / rates.issue_cycles
        moved = self.tile_bytes(instance)
        read = instance.k_per_block * POSITION_BYTES * (prod(problem.strides) + 1)
        resources = (
            ("vector", parts * elements * (taps + 2 * instance.stages + 2) / lanes),
            ("lds", parts * moved.read / rates.lds_read_bytes + read / rates.lds_write_bytes),
            ("load", read / rates.load_bytes),
        )
        bound: Bound = slowest(resources, 2 * elements * prod(problem.filter) / (2 * lanes))
        blocks, tiles = _SHARES[instance.operation](instance, problem, split_k, rates.units)
        return Work(blocks, tiles, bound, blocks, instance.n_per_block * prod(problem.filter))


def _weight_reads(instance: Fields) -> tuple[int, int]:
    """The tensors that pass through LDS, and the positions of LDS that a warp reads for a tile: `stages` rows of the
    input and one of the output."""
    return 2, instance.k_per_block * (instance.stages + 1)


def _data_reads(instance: Fields) -> tuple[int, int]:
    """The same for backward data: `stages` rows of the output, as many positions longer as a row has taps but one."""
    return 1, (instance.k_per_block + instance.m_per_block - 1) * instance.stages


def _weight_shares(instance: Fields, problem: ConvProblem, split_k: int, units: int) -> tuple[int, float]:
    """Workgroups of the busiest unit and the tiles of each; a workgroup has a split of the positions."""
    tiles = ceil(problem.batch * prod(problem.output) / instance.k_per_block / split_k)
    return ceil(ceil_div(problem.groups, instance.n_per_block) * split_k / units), tiles


def _data_shares(instance: Fields, problem: ConvProblem, split_k: int, units: int) -> tuple[int, float]:
    """The same for backward data: the workgroup of a unit takes tiles of all groups in turn."""
    tiles = ceil_div(problem.groups, instance.n_per_block) * problem.batch * prod(problem.input) / instance.k_per_block
    return 1, tiles / units


def _parts(instance: Fields, problem: ConvProblem) -> int:
    """The number of parts of the filter; one warp multiplies one part."""
    rows, columns = problem.filter
    return ceil_div(rows, instance.stages) * ceil_div(columns, instance.m_per_block)


def _has_parts(instance: Fields, problem: ConvProblem) -> bool:
    """True if there is a warp for each part of the filter, and the strides are 1 or 2."""
    return max(problem.strides) <= 2 and _parts(instance, problem) <= 2 * instance.math_waves


def _has_filter(instance: Fields, problem: ConvProblem) -> bool:
    """True for exactly the filter whose weights a lane has, with strides and dilations of 1."""
    return problem.filter == (instance.stages, instance.m_per_block) and {*problem.strides, *problem.dilations} == {1}


_TAKES_FILTER = {BWD_WEIGHT: _has_parts, BWD_DATA: _has_filter}
_READS = {BWD_WEIGHT: _weight_reads, BWD_DATA: _data_reads}
_SHARES = {BWD_WEIGHT: _weight_shares, BWD_DATA: _data_shares}


def _widths(shape: Shape) -> tuple[int, int, int]:
    return LANE_BYTES // DTYPES[shape.dtype].elem_bytes, 1, 1


DEPTHWISE_TMA = DepthwiseTma(
    name="depthwise_tma",
    summary="Hopper's for groups of one channel, by multiply-adds",
    operations=(BWD_WEIGHT, BWD_DATA),
    own_sums=(BWD_DATA,),
    widths={BWD_WEIGHT: _widths, BWD_DATA: _widths},
    struct="DepthwiseTma",
    header="depthwise_tma",
)
