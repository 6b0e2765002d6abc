"""Upper bound for the speed of a main loop: cycles of a compute unit per tile of one workgroup, by resource.

Each resource of a compute unit is busy for some time with a tile; the loop cannot be faster than the busiest resource:

    matrix  FLOP of the tile / FLOP per cycle of the unit (idle SIMDs do not count as busy)
    vector  (VALU + 3 * slow + matrix instructions) * issue cycles * waves / SIMDs: one vector instruction at a time
    wave    all instructions of one wave * issue cycles / workgroups on the unit: a wave issues one at a time
    lds     bytes read / LDS read rate + bytes written / LDS write rate
    load    bytes from memory / bytes that the shared cache delivers to a unit

The bound is the tile's time at the matrix peak divided by the time of the busiest resource. Latency, waits, barriers
and LDS bank conflicts (main loops have none) are ignored, so the bound is optimistic. docs/isa.md shows the arithmetic
for one instance. All functions are pure.
"""

from __future__ import annotations

from ckgen.families.registry import FAMILIES
from ckgen.families.tile_cost import Bound, RoleLoad
from ckgen.hardware.compute_units import RATES, UNITS
from ckgen.hardware.occupancy import workgroups_per_unit
from ckgen.instance.instance import Instance
from ckgen.machine_code.analyse import CodeReport
from ckgen.machine_code.table import Row


def bound_of(report: CodeReport, instance: Instance) -> Bound | None:
    """The bound of compiled code; None if there is none."""
    if not _has_bound(instance, report.arch):
        return None
    resources = report.resources
    groups = workgroups_per_unit(
        UNITS[report.arch],
        vgprs=max(resources.vgprs, resources.agprs),
        sgprs=resources.sgprs,
        lds_bytes=resources.lds_bytes,
        threads=instance.launch_threads,
    )
    roles = [
        RoleLoad(loop.role, *(number / loop.tiles for number in (hot.valu, hot.slow, hot.matrix, hot.total)))
        for loop in report.loops
        for hot in (loop.hot,)
    ]
    return FAMILIES[instance.family].bound(instance, RATES[report.arch], roles, groups)


def _has_bound(instance: Instance, arch: str) -> bool:
    """True if the throughput of the architecture is known and it has a matrix instruction for the instance."""
    return arch in RATES and FAMILIES[instance.family].atom(instance, arch) is not None


def roles_of_row(row: Row, instance: Instance) -> tuple[RoleLoad, ...]:
    """The roles of an instance from its row of a committed table."""
    found = []
    for prefix, role in (("main", "math" if instance.load_waves else "main"), ("load", "load")):
        if row[f"{prefix}_tiles"]:
            tiles = int(row[f"{prefix}_tiles"])
            numbers = (int(row[f"{prefix}_{column}"]) / tiles for column in ("valu", "slow", "matrix", "all"))
            found.append(RoleLoad(role, *numbers))
    return tuple(found)


def groups_of_row(row: Row, instance: Instance, arch: str) -> int:
    """Number of workgroups that fit on a compute unit, from an instance's row of a committed table."""
    numbers = {"vgprs": int(row["vgprs"]), "sgprs": int(row["sgprs"]), "lds_bytes": int(row["lds"])}
    return workgroups_per_unit(UNITS[arch], **numbers, threads=instance.launch_threads)


def bound_of_row(row: Row, instance: Instance, arch: str) -> Bound | None:
    """The bound of an instance from its row of a committed table, equal to that of `bound_of` for fresh code."""
    if not _has_bound(instance, arch):
        return None
    return FAMILIES[instance.family].bound(
        instance, RATES[arch], roles_of_row(row, instance), groups_of_row(row, instance, arch)
    )


def code_sentence(row: Row, instance: Instance, arch: str) -> str:
    """A row of a committed table as a sentence."""
    parts = [f"{row['vgprs']} vector registers", f"{row['waves']} waves per SIMD"]
    if int(row["main_matrix"] or 0):
        parts.append(f"{int(row['main_valu']) / int(row['main_matrix']):.2f} VALU per matrix instruction")
    if row["load_tiles"]:
        parts.append(f"load waves {int(row['load_valu']) / int(row['load_tiles']):g} VALU per tile")
    bound = bound_of_row(row, instance, arch)
    if bound is not None:
        parts.append(f"at most {100 * bound.fraction:.0f} % of the matrix peak ({bound.limiter})")
    return ", ".join(parts)
