"""How fast a main loop can be at most: cycles of a compute unit for one tile of one workgroup, by resource.

Each resource of a unit is busy for some time with the work of a tile; the loop cannot be faster than the busiest:

    matrix  FLOP of the tile / FLOP a cycle of the unit (idle SIMDs do not count as busy with it)
    vector  (VALU + 3 * slow + matrix instructions) * issue cycles * waves / SIMDs: one vector instruction at a time
    wave    all instructions of one wave * issue cycles / workgroups on the unit: a wave issues one at a time
    lds     bytes read / LDS read rate + bytes written / LDS write rate
    load    bytes from memory / bytes that the shared cache gives a unit

The bound is the tile's time at the matrix peak over the time of the busiest. Latency, waits, barriers and LDS bank
conflicts (main loops have none) are left out, so it is an upper bound; docs/isa.md has the arithmetic of one instance.
All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ckgen.conv.dtypes import DTYPES
from ckgen.hardware.archs import find_atom
from ckgen.hardware.compute_units import RATES, UNITS, Rates
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport
from ckgen.machine_code.table import Row

SLOW_EXTRA = 3  # a slow instruction takes four issue times


@dataclass(frozen=True, slots=True)
class RoleLoad:
    """What one wave of a role issues for one tile: vector instructions beside the matrix ones, slow ones again, matrix
    instructions, and all instructions."""

    role: str
    valu: float
    slow: float
    matrix: float
    total: float


@dataclass(frozen=True, slots=True)
class Bound:
    """Cycles of a unit a tile by resource, and what they come to: `fraction` of the matrix peak at most, because of
    `limiter`. `cycles` is the time of the limiter."""

    resources: tuple[tuple[str, float], ...]
    limiter: str
    cycles: float
    fraction: float

    def __str__(self) -> str:
        return f"{100 * self.fraction:.0f}% {self.limiter}"


def bound_of(report: CodeReport, instance: Instance) -> Bound | None:
    """The bound of compiled code; None where the architecture has no matrix instruction for it."""
    if find_atom(report.arch, instance.dtype, instance.m_per_xdl) is None:
        return None
    resources = report.resources
    groups = workgroups_per_unit(
        UNITS[report.arch],
        vgprs=resources.vgprs,
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        threads=instance.launch_threads,
    )
    roles = [
        RoleLoad(loop.role, *(number / loop.tiles for number in (hot.valu, hot.slow, hot.matrix, hot.total)))
        for loop in report.loops
        for hot in (loop.hot,)
    ]
    return tile_bound(instance, RATES[report.arch], roles, groups)


def roles_of_row(row: Row, instance: Instance) -> tuple[RoleLoad, ...]:
    """The roles of an instance from its line of a committed table."""
    found = []
    for prefix, role in (("main", "math" if instance.load_waves else "main"), ("load", "load")):
        if row[f"{prefix}_tiles"]:
            tiles = int(row[f"{prefix}_tiles"])
            numbers = (int(row[f"{prefix}_{column}"]) / tiles for column in ("valu", "slow", "matrix", "all"))
            found.append(RoleLoad(role, *numbers))
    return tuple(found)


def groups_of_row(row: Row, instance: Instance, arch: str) -> int:
    """Workgroups a unit holds, from an instance's line of a committed table."""
    numbers = {"vgprs": int(row["vgprs"]), "sgprs": int(row["sgprs"]), "lds_bytes": int(row["lds"])}
    return workgroups_per_unit(UNITS[arch], **numbers, threads=instance.launch_threads)


def bound_of_row(row: Row, instance: Instance, arch: str) -> Bound | None:
    """The bound of an instance from its line of a committed table, as `bound_of` gives it for fresh code."""
    if find_atom(arch, instance.dtype, instance.m_per_xdl) is None:
        return None
    return tile_bound(instance, RATES[arch], roles_of_row(row, instance), groups_of_row(row, instance, arch))


def code_sentence(row: Row, instance: Instance, arch: str) -> str:
    """A line of a committed table in words."""
    parts = [f"{row['vgprs']} vector registers", f"{row['waves']} waves a SIMD"]
    if int(row["main_matrix"]):
        parts.append(f"{int(row['main_valu']) / int(row['main_matrix']):.2f} VALU a matrix instruction")
    if row["load_tiles"]:
        parts.append(f"load waves {int(row['load_valu']) / int(row['load_tiles']):g} VALU a tile")
    bound = bound_of_row(row, instance, arch)
    if bound is not None:
        parts.append(f"at most {100 * bound.fraction:.0f} % of the matrix peak ({bound.limiter})")
    return ", ".join(parts)


def tile_bound(instance: Instance, rates: Rates, roles: Sequence[RoleLoad], groups: int) -> Bound:
    """The bound of an instance on a GPU, with `groups` workgroups resident on a unit (at least one is assumed)."""
    groups = max(1, groups)
    flops = 2 * instance.m_per_block * instance.n_per_block * instance.k_per_block
    peak = dict(rates.matrix_flops)[DTYPES[instance.dtype].in_type]
    math_waves = instance.math_waves * 64 // rates.wave
    busy = min(rates.simds, groups * math_waves)
    read, written, loaded = tile_bytes(instance)
    resources = (
        ("matrix", flops / (matrix_rate(instance, rates) * busy)),
        ("vector", _vector_cycles(instance, rates, roles)),
        ("wave", max((role.total for role in roles), default=0.0) * rates.issue_cycles / groups),
        ("lds", read / rates.lds_read_bytes + written / rates.lds_write_bytes),
        ("load", loaded / rates.load_bytes),
    )
    return slowest(resources, flops / (peak * rates.simds))


def slowest(resources: tuple[tuple[str, float], ...], least: float) -> Bound:
    """The bound from the cycles of each resource; `least` is the tile's time at the matrix peak."""
    limiter, cycles = max(resources, key=lambda item: item[1])
    return Bound(resources, limiter, cycles, least / cycles)


def matrix_rate(instance: Instance, rates: Rates) -> float:
    """FLOP a cycle and SIMD of the matrix instructions that an instance uses."""
    kind, flops = DTYPES[instance.dtype].in_type, dict(rates.matrix_flops)
    wgmma = instance.uses_tma and not instance.is_halo
    return flops[kind] if wgmma else flops.get(f"mma-{kind}", 0.0) or flops[kind]


def tile_bytes(instance: Instance) -> tuple[int, int, int]:
    """Bytes of one tile of a workgroup: read from LDS, written to LDS, loaded from memory.

    Every wave reads its own rows of A and columns of B once; a warpgroup of wgmma 64 rows of A and all of B.
    """
    tile = (instance.m_per_block + instance.n_per_block) * instance.k_per_block * instance.elem_bytes
    if instance.uses_tma:
        rows = instance.m_per_block + instance.n_per_block * instance.warpgroups
        return rows * instance.k_per_block * instance.elem_bytes, tile, tile
    per_wave = (instance.m_xdl_per_wave + instance.n_xdl_per_wave) * instance.m_per_xdl
    read = instance.math_waves * per_wave * instance.k_per_block * instance.elem_bytes
    return read, tile, tile


def _vector_cycles(instance: Instance, rates: Rates, roles: Iterable[RoleLoad]) -> float:
    """Cycles that a SIMD issues vector instructions a tile, the waves spread evenly over the SIMDs."""
    cycles = 0.0
    for role in roles:
        waves = (instance.load_waves if role.role == "load" else instance.math_waves) * 64 // rates.wave
        cycles += (role.valu + SLOW_EXTRA * role.slow + role.matrix) * waves
    return cycles * rates.issue_cycles / rates.simds
