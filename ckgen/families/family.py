"""The record of one family of kernels: everything that the rest of ckgen asks a family."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

from ckgen.conv.dtypes import DTYPES
from ckgen.conv.problem import ConvProblem
from ckgen.families.counts import ceil_div, saturated
from ckgen.families.fields import Fields
from ckgen.families.formulas import Formulas, Value
from ckgen.families.rule import Rule
from ckgen.families.tile_cost import Bound, Code, RoleLoad, TileBytes, Work, gemm_bound
from ckgen.families.vectors import Shape, Width
from ckgen.hardware.compute_units import Rates
from ckgen.operations.gemm import products
from ckgen.operations.operation import OPERATIONS

# Why a value that the file does not give is what it is, for `ckgen explain`: what every family says alike.
REASONS = {
    "function": "by rule: PassThrough stores what was summed",
    "conv_spec": "by rule: Default takes every filter, stride, dilation and padding",
    "archs": "by rule: every architecture whose rules the instance keeps",
    "full": "full: 16 bytes, less where a thread would keep under 4 bytes of GEMM-K for an LDS write",
    "small": "small: the fewest elements that CK's rows access at once",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Family(ABC):
    """One family of kernels, whose tiles are those of a matrix product unless it says otherwise.

    `summary` is what the schema says of it. `wave_key` is the spec's key for its waves: `block_size` where every wave
    loads and multiplies, else `wave_ratio`; `usual_waves` is the ratio that `explain` assumes where a spec must give
    one, None where a rule gives the waves. `loops` are the roles of its code that limits can be about. `rule_table` may
    hold rules of other families, `derived` are its derived values in the order in which they are shown. `struct` is
    what the names of its C++ structs begin with; families with the same tables share them. `header` ends the name of
    the C++ headers, one per operation, that bind its kernels to instances.
    """

    name: str
    summary: str
    operations: tuple[str, ...]
    wave_key: str
    usual_waves: tuple[int, int] | None = None
    loops: tuple[str, ...] = ()
    wavelet: bool = False  # load and math waves of a tiled matrix product: reports compare these with all others
    uses_tma: bool = False  # TMA fills shared memory
    uses_wgmma: bool = False
    all_taps: bool = False  # a tile has all taps of the filter
    rule_table: tuple[Rule, ...] = field(repr=False)
    derived: tuple[Value, ...] = field(repr=False)
    reasons: Mapping[str, str] = field(repr=False)
    struct: str
    header: str

    @cached_property
    def needs_waves(self) -> bool:
        """True where a spec must give the waves."""
        return self.wave_key == "block_size" or self.usual_waves is not None

    @cached_property
    def formulas(self) -> Formulas:
        """The derived values, compiled."""
        return Formulas(self.derived)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that hold for some of its operations, in the order in which they are reported."""
        return tuple(rule for rule in self.rule_table if not rule.only or self.name in rule.only)

    def has_rule(self, rule: Rule, operation: str) -> bool:
        """True where instances of an operation must keep a rule."""
        return rule in self.rules and operation in rule.operations

    # Defaults: what follows by rule where the spec says nothing.

    def reason(self, what: str) -> str:
        """Why a field that the file does not give is what it is."""
        return self.reasons.get(what) or REASONS[what]

    @abstractmethod
    def k_per_block(self, operation: str, dtype: str, n_per_block: int) -> int:
        """GEMM-K of a tile."""

    @abstractmethod
    def m_per_xdl(self, n_per_block: int) -> int:
        """Rows of the matrix atom."""

    @abstractmethod
    def waves(self, operation: str, extents: tuple[int, int, int], block_size: int) -> tuple[int, int]:
        """Load and math waves where the file gives no ratio; `extents` are M, N and K of the tile."""

    @abstractmethod
    def vectors(self, wanted: tuple[Width, Width, Width], shape: Shape) -> tuple[int, int, int]:
        """The a, b and c vectors: what the file wants, else by rule."""

    @abstractmethod
    def vector_reason(self, word: Width, which: str, instance: Fields) -> str:
        """Why a vector (`which` is a, b or c) that the file does not give as a number is what it is."""

    @abstractmethod
    def stages(self, instance: Fields) -> int:
        """LDS buffers; the number that the instance has does not matter."""

    # Architectures.

    @abstractmethod
    def archs(self, generic: bool) -> Sequence[str]:
        """The architectures that an instance may be for by default, if it keeps their rules."""

    @abstractmethod
    def home(self, dtype: str) -> Sequence[str]:
        """The architectures that instances are written for."""

    @abstractmethod
    def has_atom(self, instance: Fields, arch: str) -> bool:
        """True where an architecture has the matrix instruction of an instance."""

    # Problems.

    def takes(self, instance: Fields, problem: ConvProblem) -> bool:
        """True where nothing known keeps an instance from a problem that its vectors of B and C divide."""
        return problem.k % instance.a_vector == 0

    def kept_rows(self, instance: Fields) -> int:
        """Rows of GEMM-K of B that stay in LDS from tile to tile; longer sums write partials. 0: B comes with A."""
        return 0

    def tiles(self, instance: Fields, problem: ConvProblem) -> int:
        """Tiles of all groups' gradients. Backward data: as if it were one sub-GEMM."""
        if OPERATIONS[instance.operation].written == "in":
            rows = saturated((problem.batch, *problem.input))
            rows = saturated((ceil_div(rows, instance.m_per_block), problem.groups))
            return saturated((rows, ceil_div(problem.c, instance.n_per_block)))
        rows = saturated((ceil_div(problem.k, instance.m_per_block), problem.groups))
        columns = saturated((problem.c, *problem.filter))
        return saturated((rows, ceil_div(columns, instance.n_per_block)))

    def values_per_term(self, instance: Fields, problem: ConvProblem) -> int:
        """Values that a tile reads for each term of its sums, whether they lie inside or not."""
        return instance.m_per_block + instance.n_per_block

    # Cost.

    @abstractmethod
    def tile_bytes(self, instance: Fields) -> TileBytes:
        """The memory traffic of one tile."""

    def matrix_rate(self, dtype: str, rates: Rates) -> float:
        """FLOP a cycle and SIMD of the family's matrix instructions."""
        kind, flops = DTYPES[dtype].in_type, dict(rates.matrix_flops)
        return flops[kind] if self.uses_wgmma else flops.get(f"mma-{kind}", 0.0) or flops[kind]

    def bound(self, instance: Fields, rates: Rates, roles: Sequence[RoleLoad], groups: int) -> Bound:
        """The bound of a tile, with `groups` workgroups resident on a unit."""
        rate = self.matrix_rate(instance.dtype, rates)
        return gemm_bound(instance, rates, roles, groups, self.tile_bytes(instance), rate)

    def work(self, instance: Fields, problem: ConvProblem, split_k: int, code: Code, rates: Rates) -> Work:
        """The work of the busiest unit for a problem."""
        tiled = [  # tiles of C, and each one's tiles of GEMM-K
            (ceil(m / instance.m_per_block) * ceil(n / instance.n_per_block), ceil(k / instance.k_per_block))
            for m, n, k in products(instance.operation, problem)
        ]
        outputs = sum(count for count, _ in tiled) * problem.groups
        blocks = ceil(outputs * split_k / rates.units)
        bound = self.bound(instance, rates, code.roles, min(code.groups, blocks))
        rounds = 1 if self.uses_tma else ceil(blocks / max(1, code.groups))
        tiles = sum(count * ceil(depth / split_k) for count, depth in tiled) * problem.groups / max(1, outputs)
        return Work(blocks, tiles, bound, rounds, instance.m_per_block * instance.n_per_block)
