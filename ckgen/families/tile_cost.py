"""The cost of a tile: cycles of a compute unit by resource, as ckgen.cost.model describes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ckgen.conv.dtypes import DTYPES
from ckgen.families.fields import Fields
from ckgen.hardware.compute_units import Rates

SLOW_EXTRA = 3  # a slow instruction takes four issue times


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """The instructions that one wave of a role issues for one tile: vector instructions beside the matrix ones, slow
    ones again, matrix instructions, and all instructions."""

    role: str
    valu: float
    slow: float
    matrix: float
    total: float


@dataclass(frozen=True, slots=True)
class Bound:
    """Cycles of a unit per tile by resource, and their result: `fraction` of the matrix peak at most, because of
    `limiter`. `cycles` is the time of the limiter."""

    resources: tuple[tuple[str, float], ...]
    limiter: str
    cycles: float
    fraction: float

    def __str__(self) -> str:
        return f"{100 * self.fraction:.0f}% {self.limiter}"


@dataclass(frozen=True, slots=True)
class Code:
    """The instructions per tile of an instance's machine code, and how many workgroups of it a unit holds."""

    roles: tuple[RoleLoad, ...]
    groups: int


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the busiest unit: its workgroups, the tiles of each, the cost of one, how often it waits for memory
    to begin, and the weights that a workgroup writes."""

    blocks: int
    tiles: float
    bound: Bound
    rounds: int
    weights: int


@dataclass(frozen=True, slots=True)
class TileBytes:
    """Bytes of one tile of a workgroup: read from LDS, written to LDS, loaded from memory."""

    read: int
    written: int
    loaded: int


def gemm_bound(
    instance: Fields, rates: Rates, roles: Sequence[RoleLoad], groups: int, traffic: TileBytes, flops_a_cycle: float
) -> Bound:
    """The bound of a matrix product's tile, with `groups` workgroups resident on a unit (at least one is assumed);
    `flops_a_cycle` are those of a SIMD."""
    groups = max(1, groups)
    flops = 2 * instance.m_per_block * instance.n_per_block * instance.k_per_block
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type]
    math_waves = instance.math_waves * 64 // rates.wave
    busy = min(rates.simds, groups * math_waves)
    resources = (
        ("matrix", flops / (flops_a_cycle * busy)),
        ("vector", _vector_cycles(instance, rates, roles)),
        ("wave", max((role.total for role in roles), default=0.0) * rates.issue_cycles / groups),
        ("lds", traffic.read / rates.lds_read_bytes + traffic.written / rates.lds_write_bytes),
        ("load", traffic.loaded / rates.load_bytes),
    )
    return slowest(resources, flops / (peak * rates.simds))


def slowest(resources: tuple[tuple[str, float], ...], least: float) -> Bound:
    """The bound from the cycles of each resource; `least` is the tile's time at the matrix peak."""
    limiter, cycles = max(resources, key=lambda item: item[1])
    return Bound(resources, limiter, cycles, least / cycles)


def _vector_cycles(instance: Fields, rates: Rates, roles: Iterable[RoleLoad]) -> float:
    """Cycles that a SIMD issues vector instructions per tile, the waves spread evenly over the SIMDs."""
    cycles = 0.0
    for role in roles:
        waves = (instance.load_waves if role.role == "load" else instance.math_waves) * 64 // rates.wave
        cycles += (role.valu + SLOW_EXTRA * role.slow + role.matrix) * waves
    return cycles * rates.issue_cycles / rates.simds
