"""The record of one family of kernels: everything that the rest of ckgen needs to know about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import NamedTuple

from ckgen.conv.columns import with_columns
from ckgen.conv.dtypes import DTYPES
from ckgen.conv.layout import LAYOUTS, TensorName
from ckgen.conv.problem import ConvProblem
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.fields import Fields
from ckgen.families.formulas import Formulas, Value
from ckgen.families.rule import Rule
from ckgen.families.tile_cost import Bound, Code, RoleLoad, TileBytes, Work, gemm_bound
from ckgen.families.vectors import Shape, Width
from ckgen.hardware.archs import WAVE_SIZE, Atom
from ckgen.hardware.compute_units import Rates
from ckgen.operations.operation import OPERATIONS, CkRows

# The reason for each value that the file does not give, for `ckgen explain`; these are common to all families.
REASONS = {
    "function": "by rule: PassThrough stores what was summed",
    "conv_spec": "by rule: Default takes every filter, stride, dilation and padding",
    "archs": "by rule: every architecture whose rules the instance satisfies",
    "full": "full: 16 bytes, less where a thread would keep under 4 bytes of GEMM-K for an LDS write",
    "groups_to_merge": "by rule: a tile is of one group",
    "exchange": "by rule: A and B are not exchanged",
    "cluster": "by rule: each workgroup copies its own operands",
    **dict.fromkeys(
        ("transpose_dst", "transpose_vector", "transpose_lds"), "by rule: no row of CK, tensors are read as they are"
    ),
    **dict.fromkeys(("a_write", "b_write", "a_k1", "b_k1"), "by rule: the family has its own copies"),
    "pipeline_version": "by rule: the family has one loop",
    "interwave": "by rule: Intrawave",
    "small": "small: the fewest elements that CK's rows access at once",
}

# The C++ selector has both, too.
MACS_A_VALUE = 64  # products of mma.sync in the time that one value takes from the cache, on an H200
TAP_SLOT = 8  # K channels that a tap takes at least in backward data: a slot of LDS of 16-bit elements


class Coverage(NamedTuple):
    """The part of the result that a tile covers, for the selector: rows and columns, the columns those of every tap
    (`all_taps`) or run over the groups (`all_groups`); or rows and columns are those of `groups` at most. `values` are
    read per term of its sums, or as many as take the time of its `macs` products per tap. `sweep`, for families of
    sweeps: rows and columns of taps and groups that multiply each position, and a workgroup's least positions."""

    m: int
    n: int
    values: int
    macs: int = 0
    all_taps: bool = False
    all_groups: bool = False
    groups: int = 1
    sweep: tuple[int, int, int, int] = (0, 0, 0, 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Family(ABC):
    """One family of kernels; its tiles are those of a matrix product unless it overrides the methods.

    `summary` describes the family in the schema. `wave_key` is the spec's key for its waves: `block_size` if every wave
    loads and multiplies, else `wave_ratio`. `usual_waves` is the ratio that `explain` assumes where a spec must give
    one; it is None if the waves are given by rule. `loops` are the roles of its code for which a spec can set limits.
    `rule_table` may contain rules that only apply to other families. `derived` are its derived values in the order in
    which they are shown. `struct` begins the names of its C++ structs; families with the same tables share them.
    `header` ends the names of the C++ headers, one per operation, that bind its kernels to instances.
    """

    name: str
    summary: str
    wave_size: int = WAVE_SIZE  # threads of a wave for which its kernels are written
    operations: tuple[str, ...]
    wave_key: str
    usual_waves: tuple[int, int] | None = None
    loops: tuple[str, ...] = ()
    wavelet: bool = False  # a matrix product with load and math waves: reports compare these with all others
    amd_only: bool = False  # no kernel of it exists for NVIDIA
    uses_tma: bool = False  # shared memory is filled by TMA
    uses_wgmma: bool = False
    sums_columns: bool = False  # it computes the products of ckgen.conv.columns
    single_channel: bool = False  # a group has one input channel
    own_sums: tuple[str, ...] = ()  # operations for which, with a function, no second kernel adds partial sums
    ck_unit: str = ""  # rows of the classes with this unit in CK's tables are instances of it
    has_ck_rows: bool = False  # and rows of CK's dispatcher
    ck_flag: str = ""  # key of CK's dispatcher that is true for its rows and false for others
    lds_keys: bool = False  # the spec may give the keys `lds_write` and `copy_k1`
    pipelines: bool = False  # the spec may give the keys `pipeline_version` and `scheduler`
    merges_groups: tuple[str, ...] = ()  # operations for which the spec may give the key `groups_to_merge`
    exchanges: tuple[str, ...] = ()  # operations for which the spec may give the key `exchange`
    clusters: tuple[str, ...] = ()  # operations for which the spec may give the key `cluster`
    transposes: bool = False  # the spec may give the key `transpose`; CK's rows name the pipeline and merged groups
    rule_table: tuple[Rule, ...] = field(repr=False)
    derived: tuple[Value, ...] = field(repr=False)
    reasons: Mapping[str, str] = field(repr=False)
    struct: str
    header: str

    @cached_property
    def needs_waves(self) -> bool:
        """True if a spec must give the waves."""
        return self.wave_key == "block_size" or self.usual_waves is not None

    @cached_property
    def formulas(self) -> Formulas:
        """The derived values, compiled."""
        return Formulas(self.derived)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that apply to at least one of its operations, in the order in which they are reported."""
        return tuple(rule for rule in self.rule_table if not rule.only or self.name in rule.only)

    def ck_class(self, operation: str) -> CkRows | None:
        """The class whose rows in CK's tables are instances of an operation, None if there is none."""
        record = OPERATIONS[operation]
        return next((row for row in (record.ck, *record.more_ck) if row.unit == self.ck_unit), None)

    def has_rule(self, rule: Rule, operation: str) -> bool:
        """True if instances of an operation must satisfy a rule."""
        return rule in self.rules and operation in rule.operations

    # Defaults: the values that a spec leaves to a rule.

    def reason(self, what: str) -> str:
        """The reason for the value of a field that the file does not give."""
        return self.reasons.get(what) or REASONS[what]

    @abstractmethod
    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        """The tile's size along GEMM-K."""

    @abstractmethod
    def m_per_xdl(self, n_per_block: int) -> int:
        """Rows of the matrix atom."""

    @abstractmethod
    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        """Load and math waves if the file gives no ratio; `extents` are M, N and K of the tile."""

    @abstractmethod
    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        """The a, b and c vectors: given by the file, else by rule."""

    @abstractmethod
    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        """The reason for the width of a vector (`which` is a, b or c) that the file does not give as a number."""

    @abstractmethod
    def stages(self, instance: Fields) -> int:
        """The number of LDS buffers, regardless of the instance's own `stages`."""

    # Architectures.

    @abstractmethod
    def archs(self, instance: Fields) -> Sequence[str]:
        """The architectures that an instance is for by default, provided that it satisfies their rules."""

    @abstractmethod
    def home(self, dtype: str) -> Sequence[str]:
        """The architectures for which the family's kernels were written."""

    @abstractmethod
    def has_atom(self, instance: Fields, arch: str) -> bool:
        """True if an architecture has the matrix instruction of an instance."""

    def atom(self, instance: Fields, arch: str) -> Atom | None:
        """The matrix instruction of AMD that an instance issues on an architecture, None if it issues none."""
        return None

    # Problems.

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True if an instance can run a problem that its B and C vectors divide, as far as the family knows."""
        if instance.row_vector > 1:  # a vector is loaded from inside a plane
            return instance.row_vector <= saturated(problem.output)
        return self.fills(instance, problem, instance.a_tensor, instance.a_vector)

    def merged(self, instance: Fields, problem: ConvProblem) -> int:
        """Groups that a tile computes as one."""
        return min(self.coverage(instance).groups, problem.groups)

    def fills(self, instance: Fields, problem: ConvProblem, tensor: TensorName, vector: int) -> bool:
        """True if the contiguous elements of a tensor are whole vectors. Merged groups have more channels, a last tile
        of fewer groups has fewer. No vector of a weight reaches over groups."""
        if tensor == "wei" and instance.copies_weight:  # rows of a copy end with zeros, unless groups share them
            return instance.groups_to_merge == 1 or problem.c % vector == 0
        elements = problem.run_of(tensor, instance.layout)
        if tensor == "wei" or not LAYOUTS[instance.layout].channels_last_in(tensor):
            return elements % vector == 0
        return elements * self.merged(instance, problem) % vector == 0 and elements * problem.groups % vector == 0

    def kept_rows(self, instance: Fields) -> int:
        """Rows of GEMM-K of B that stay in LDS, where longer sums write partial sums; 0 if B is loaded with A."""
        return 0

    def coverage(self, instance: Fields) -> Coverage:
        """The part of the result that one tile covers."""
        return Coverage(instance.m_per_block, instance.n_per_block, instance.m_per_block + instance.n_per_block)

    def counted(self, instance: Fields, problem: ConvProblem) -> ConvProblem:
        """The problem whose products an instance computes for a problem."""
        return with_columns(problem, instance.n_per_block) if self.sums_columns else problem

    def tiles(self, instance: Fields, problem: ConvProblem) -> int:
        """Tiles of the results of all groups, as if each group were one matrix product."""
        problem = self.counted(instance, problem)
        sizes, tile = instance.extents(problem), self.coverage(instance)
        taps = saturated(sizes.taps)
        step = self.tap_step(instance) if taps > 1 else 1
        columns = saturated((ceil_div(saturated(sizes.n), step), step, 1 if tile.all_taps else taps))
        groups, merged = problem.groups, self.merged(instance, problem)
        rows = ceil_div(saturated((*sizes.m, merged if OPERATIONS[instance.operation].merged.m else 1)), tile.m)
        if tile.all_groups:
            return saturated((rows, ceil_div(saturated((columns, groups)), tile.n)))
        return saturated((rows, ceil_div(groups, merged), ceil_div(saturated((columns, merged)), tile.n)))

    def values_per_term(self, instance: Fields, problem: ConvProblem) -> int:
        """Values that a tile reads per term of its sums, including those outside the tensor."""
        tile = self.coverage(instance)
        values = max(tile.values, saturated((tile.macs, *problem.filter)) // MACS_A_VALUE)
        merged = self.merged(instance, problem)
        if merged == 1 or not OPERATIONS[instance.operation].merged.k:
            return values
        # A tap of merged groups has the channels of all. One group's take at least a slot of LDS.
        return saturated((values, ceil_div(saturated((problem.k, merged)), TAP_SLOT))) // ceil_div(problem.k, TAP_SLOT)

    # Cost.

    def registers(self, instance: Fields) -> int:
        """Vector registers of a lane, estimated; 1 if they do not limit the number of workgroups."""
        return 1

    def tap_step(self, instance: Fields) -> int:
        """The channels that a tap takes whole numbers of: K of GEMM-K in backward data, C of columns in the other."""
        if not OPERATIONS[instance.operation].merged.k:
            return 1
        return instance.k_per_block if self.uses_tma or instance.one_tap_tiles else TAP_SLOT

    def splits(self, instance: Fields) -> bool:
        """True if split_k divides its work."""
        return not self.single_channel

    def overlaps(self, instance: Fields) -> bool:
        """True if a workgroup stores one tile while it multiplies the next."""
        return False

    @abstractmethod
    def tile_bytes(self, instance: Fields) -> TileBytes:
        """The LDS and memory traffic of one tile."""

    def matrix_rate(self, dtype: str, rates: Rates) -> float:
        """FLOP per cycle and SIMD of the family's matrix instructions."""
        kind = DTYPES[dtype].matrix_type
        plain = self.uses_wgmma or (self.single_channel and kind == "f32")  # f32: multiply-adds
        return dict(rates.matrix_flops).get(kind if plain else f"mma-{kind}") or rates.flops_of(kind)

    def copied_units(self, instance: Fields) -> tuple[int, int]:
        """The elements that rows of the output, and of the input or the weight, whichever is operand B, must fill, or a
        kernel before the main one copies the tensor; 0 if it is never copied, -1 if always."""
        return 0, 0

    def aligns_weight(self, instance: Fields, problem: ConvProblem) -> bool:
        """True if the weight is copied because its rows do not begin at cache lines and tiles read them often."""
        return False

    def pace(self, instance: Fields) -> float:
        """The time of a product of an instance in multiples of that at `matrix_rate`."""
        return 1.0

    def bound(self, instance: Fields, rates: Rates, roles: Sequence[RoleLoad], groups: int) -> Bound:
        """The bound of a tile if `groups` workgroups are resident on a unit."""
        rate = self.matrix_rate(instance.dtype, rates) / self.pace(instance)
        return gemm_bound(instance, rates, roles, groups, self.tile_bytes(instance), rate)

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        """The work of the busiest compute unit for a problem."""
        merged = self.merged(instance, problem)
        m_factor, n_factor, k_factor = (merged if grows else 1 for grows in OPERATIONS[instance.operation].merged)
        tiled = [  # tiles of C, and tiles along GEMM-K of each
            (
                ceil(m_factor * m / instance.m_per_block) * ceil(n_factor * n / instance.n_per_block),
                ceil(k_factor * k / instance.k_per_block),
            )
            for m, n, k in instance.products(problem, 0 if self.uses_tma else instance.m_per_block)
        ]
        groups = ceil_div(problem.groups, merged)
        outputs = sum(count for count, _ in tiled) * groups
        blocks = ceil(outputs * split_k / rates.units)
        bound = self.bound(instance, rates, code.roles, min(code.groups, blocks))
        rounds = 1 if self.uses_tma else ceil(blocks / max(1, code.groups))
        tiles = sum(count * ceil(depth / split_k) for count, depth in tiled) * groups / max(1, outputs)
        return Work(blocks, tiles, bound, rounds, instance.m_per_block * instance.n_per_block)
