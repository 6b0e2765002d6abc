"""The cost of a tile: cycles of a compute unit by resource, as described in ckgen.cost.model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ckgen.conv.dtypes import DTYPES
from ckgen.families.fields import Fields
from ckgen.hardware.compute_units import Rates

SLOW_EXTRA = 3  # a slow instruction takes four issue times


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """The instructions that one wave of a role issues per tile: `valu` vector instructions other than matrix ones, of
    which `slow` are slow, `matrix` matrix instructions, and `total` instructions of all kinds."""

    role: str
    valu: float
    slow: float
    matrix: float
    total: float


@dataclass(frozen=True, slots=True)
class Bound:
    """Cycles of a compute unit per tile, by resource. `limiter` is the slowest resource, `cycles` is its time, and
    `fraction` is the share of the matrix peak that it allows."""

    resources: tuple[tuple[str, float], ...]
    limiter: str
    cycles: float
    fraction: float

    def __str__(self) -> str:
        return f"{100 * self.fraction:.0f}% {self.limiter}"


@dataclass(frozen=True, slots=True)
class Code:
    """The instructions per tile of an instance's machine code, the number of its workgroups that a unit holds, and its
    cycles per tile relative to the bound."""

    roles: tuple[RoleLoad, ...]
    groups: int
    slowdown: float = 1.0


@dataclass(frozen=True, slots=True)
class Work:
    """The work of the busiest compute unit: its workgroups, the tiles of each, the cost of one tile, the number of
    times that it waits for the first load from memory, and the weights that each workgroup writes."""

    blocks: int
    tiles: float
    bound: Bound
    rounds: int
    weights: int


@dataclass(frozen=True, slots=True)
class TileBytes:
    """Bytes per tile of a workgroup: read from LDS, written to LDS, loaded from memory."""

    read: int
    written: int
    loaded: int


def gemm_bound(
    instance: Fields, rates: Rates, roles: Sequence[RoleLoad], groups: int, traffic: TileBytes, flops_a_cycle: float
) -> Bound:
    """The bound of a matrix product's tile if `groups` workgroups are resident on a unit (at least one is assumed);
    `flops_a_cycle` is per SIMD."""
    groups = max(1, groups)
    flops = 2 * instance.m_per_block * instance.n_per_block * instance.k_per_block
    peak = rates.flops_of(DTYPES[instance.dtype].matrix_type)
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
    """The bound given the cycles of each resource; `least` is the tile's time at the matrix peak."""
    limiter, cycles = max(resources, key=lambda item: item[1])
    return Bound(resources, limiter, cycles, least / cycles)


def _vector_cycles(instance: Fields, rates: Rates, roles: Iterable[RoleLoad]) -> float:
    """Cycles per tile in which a SIMD issues vector instructions, if the waves are spread evenly over the SIMDs."""
    cycles = 0.0
    for role in roles:
        waves = (instance.load_waves if role.role == "load" else instance.math_waves) * 64 // rates.wave
        cycles += (role.valu + SLOW_EXTRA * role.slow + role.matrix) * waves
    return cycles * rates.issue_cycles / rates.simds
