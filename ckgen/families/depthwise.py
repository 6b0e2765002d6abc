"""Family depthwise: groups of one input channel, without a matrix unit; memory limits it.

A thread has `a_vector` neighbouring groups. `tile` is the taps of a filter row that are multiplied at once by the
groups of a workgroup; `k_per_block` is the number of positions that a workgroup computes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, gcd
from operator import le

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.counts import CEILING, ceil_div, saturated
from ckgen.families.family import Coverage, Family
from ckgen.families.fields import Fields
from ckgen.families.formulas import AS_STORED, Value
from ckgen.families.rule import Rule
from ckgen.families.rules.depthwise import RULES
from ckgen.families.tile_cost import Bound, Code, RoleLoad, TileBytes, Work, slowest
from ckgen.families.vectors import ACCESS_BYTES, Shape, Width, small
from ckgen.hardware.archs import ARCHES, WAVE_SIZE
from ckgen.hardware.compute_units import Rates
from ckgen.operations.operation import BWD_DATA, BWD_WEIGHT

BLOCK_SIZE = 256
SINGLE_ROWS = 16  # filter rows that a sweep never has: one row at a time comes after all sweeps, single groups last
POSITIONS = 4  # per strip: neighbouring taps share most of their values, and the sums fit registers
WEIGHT_BYTES = 16 * 1024  # in LDS; more weights pass through it in parts
SUM_BYTES = 4

DERIVED = (
    Value("ndim", "Spatial dimensions, 1 to 3: the first tensor has them beside G, N and C."),
    Value("elem_bytes", "Bytes of an element of A and B."),
    AS_STORED,
    Value("c_bytes", "Bytes of an element of C, the tensor that is written."),
    Value("block_size", "Threads of a workgroup.", f"{WAVE_SIZE} * math_waves"),
    Value("launch_threads", "Threads of a workgroup as launched.", f"{WAVE_SIZE} * (load_waves + math_waves)"),
    Value("channel_threads", "Threads beside each other along the groups.", "max(1, n_per_block // a_vector)"),
    Value("position_threads", "Threads that have the same groups.", "block_size // channel_threads"),
    Value("thread_positions", "Positions of one strip, which a thread computes at once.",
          "k_per_block // position_threads"),
    Value("acc_registers", "Accumulator registers per lane, of the operation that needs more.",
          "a_vector * stages * max(m_per_block, thread_positions)"),
    Value("lds_bytes", "Bytes of LDS a workgroup allocates: for weights, or for the sums of all threads.",
          f"max({WEIGHT_BYTES}, block_size * a_vector * 4)"),
)  # fmt: skip
REASONS = {
    "k_per_block": f"by rule: {POSITIONS} positions for each of {BLOCK_SIZE} threads with the widest vector",
    "m_per_xdl": "by rule: there is no matrix atom, a lane multiplies single values",
    "load_waves": "by rule: every wave loads and multiplies",
    "math_waves": f"by rule: {BLOCK_SIZE} threads",
    "stages": "by rule: filters of any number of rows",
    "slot": "by rule: 16 bytes, the widest global access; single weights",
    "generic": "by rule: single groups",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Depthwise(Family):
    """The family depthwise; its tiles are positions, and it multiplies by vector instructions."""

    rule_table: tuple[Rule, ...] = field(default=RULES, repr=False)
    derived: tuple[Value, ...] = field(default=DERIVED, repr=False)
    reasons: Mapping[str, str] = field(default_factory=lambda: REASONS, repr=False)
    own_sums: tuple[str, ...] = (BWD_DATA,)
    single_channel: bool = True

    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        vectors = max(1, n_per_block * DTYPES[dtype].elem_bytes // ACCESS_BYTES)
        return POSITIONS * max(1, BLOCK_SIZE // vectors)

    def m_per_xdl(self, n_per_block: int) -> int:
        return 1

    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        return 0, BLOCK_SIZE // WAVE_SIZE

    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        full = ACCESS_BYTES // DTYPES[shape.dtype].elem_bytes
        a, b, c = (
            width if isinstance(width, int) else small(shape) if width == "small" else rule
            for width, rule in zip(wanted, (full, 1, 1), strict=True)
        )
        return a, b, c

    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        return self.reason(word if isinstance(word, str) else "slot")

    def stages(self, instance: Fields) -> int:
        return 1

    def archs(self, instance: Fields) -> Sequence[str]:
        return tuple(ARCHES)

    def home(self, dtype: str) -> Sequence[str]:
        return tuple(ARCHES)

    def has_atom(self, instance: Fields, arch: str) -> bool:
        return True

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True for groups of one input channel, for vectors of groups with one output channel, and for filters that a
        sweep can have."""
        if problem.c != 1 or (instance.stages > 1 and not _TAKES_SWEEP[instance.operation](instance, problem)):
            return False
        return instance.a_vector == 1 or (problem.k == 1 and problem.groups % instance.a_vector == 0)

    def coverage(self, instance: Fields) -> Coverage:
        """Single positions. Where several instances take a filter, the smallest one that sweeps comes first."""
        single = SINGLE_ROWS * SINGLE_ROWS // instance.a_vector
        taps = instance.m_per_block * instance.stages if instance.stages > 1 else single
        sweep = (instance.stages, instance.m_per_block, instance.n_per_block, instance.k_per_block)
        return Coverage(1, 1, taps, 0, True, sweep=sweep)

    def tile_bytes(self, instance: Fields) -> TileBytes:
        """Traffic of k_per_block positions of n_per_block groups, of which each is read and written, or read twice."""
        elements = instance.n_per_block * instance.k_per_block
        return TileBytes(0, 0, elements * (instance.elem_bytes + instance.c_bytes))

    def bound(self, instance: Fields, rates: Rates, roles: Sequence[RoleLoad], groups: int) -> Bound:
        """The bound of one pass over a tile: its memory traffic, or two conversions and all multiply-adds of a unit."""
        taps = instance.m_per_block * instance.stages
        elements = instance.n_per_block * instance.k_per_block
        lanes = rates.simds * rates.wave / rates.issue_cycles
        resources = (
            ("vector", elements * (taps + 2) / lanes),
            ("load", self.tile_bytes(instance).loaded / rates.load_bytes),
        )
        return slowest(resources, 2 * elements * taps / (2 * lanes))

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        """The work of the busiest compute unit; workgroups divide positions evenly, whatever split_k is."""
        taps, rows = instance.m_per_block, instance.stages
        passes, image = _PASSES[instance.operation](instance, problem)
        positions = saturated((problem.batch, *image))
        tiles = positions / instance.k_per_block * ceil_div(problem.groups, instance.n_per_block) * passes
        bound = self.bound(instance, rates, code.roles, code.groups)
        return Work(1, tiles / rates.units, bound, 1, instance.n_per_block * taps * rows)


def _unit(instance: Fields, ndim: int) -> tuple[int, ...]:
    """Taps of each dimension that are multiplied at once."""
    return (1, 1, instance.stages, instance.m_per_block)[-ndim:]


def _reaching(problem: ConvProblem, axis: int) -> tuple[int, int, int]:
    """For a dimension in backward data: the most taps that reach one position, the distance of positions that taps
    reach, and the distance in the output of neighbouring taps of a position."""
    common = gcd(problem.strides[axis], problem.dilations[axis])
    classes = problem.strides[axis] // common
    return ceil_div(problem.filter[axis], classes), common, problem.dilations[axis] // common


def _weight_sweeps(instance: Fields, problem: ConvProblem) -> bool:
    """True if an instance with sums for several filter rows takes the filter, as templates/src/plan checks it."""
    return all(problem.dilations[axis] % problem.strides[axis] == 0 for axis in (-1, -2))


def _data_sweeps(instance: Fields, problem: ConvProblem) -> bool:
    taps = [_reaching(problem, axis)[0] for axis in range(problem.ndim)]
    weights = saturated((problem.k, *taps[:-1], instance.m_per_block, instance.n_per_block))
    fits = all(map(le, taps[-2:], (instance.stages, instance.m_per_block)))
    return fits and weights * SUM_BYTES <= instance.lds_bytes


def _weight_passes(instance: Fields, problem: ConvProblem) -> tuple[float, tuple[int, ...]]:
    """The number of times that backward weight multiplies each position, by a unit of taps, and the positions."""
    image = tuple(max(sizes) for sizes in zip(problem.input, problem.output, strict=True))
    return saturated((problem.k, *map(ceil_div, problem.filter, _unit(instance, problem.ndim)))), image


def _data_passes(instance: Fields, problem: ConvProblem) -> tuple[float, tuple[int, ...]]:
    """The same for backward data. A sweep has all taps of its filter; else a workgroup leaves out taps that meet the
    output from none of its positions."""
    passes, inner = float(problem.k), 1
    for axis in reversed(range(problem.ndim)):
        taps, common, shift = _reaching(problem, axis)
        positions = ceil_div(problem.input[axis], problem.strides[axis])
        tile = min(positions, ceil_div(instance.k_per_block, inner))
        if instance.stages == 1:
            taps = min(taps, ceil(taps * problem.output[axis] / positions + (tile - 1) / shift))
        passes *= ceil_div(taps, _unit(instance, problem.ndim)[axis]) / common
        inner = saturated((inner, positions))
    return min(passes, CEILING), problem.input


_PASSES = {BWD_WEIGHT: _weight_passes, BWD_DATA: _data_passes}
_TAKES_SWEEP = {BWD_WEIGHT: _weight_sweeps, BWD_DATA: _data_sweeps}

DEPTHWISE = Depthwise(
    name="depthwise",
    summary="groups of one input channel, by multiply-adds",
    operations=(BWD_WEIGHT, BWD_DATA),
    wave_key="block_size",
    usual_waves=None,
    struct="Depthwise",
    header="depthwise",
)
