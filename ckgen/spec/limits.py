"""Checks of machine code against the limits of the spec, with the place of each broken limit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckgen.errors import Diagnostic, Place
from ckgen.families.registry import FAMILIES
from ckgen.hardware.archs import ARCHES
from ckgen.machine_code.analyse import ROLES, CodeReport
from ckgen.spec.checks import layers
from ckgen.spec.expand import Expansion
from ckgen.spec.limits_model import Limits, LoopLimits
from ckgen.spec.models import Spec

# Limit -> the name of the number in a message.
_RESOURCES = {
    "spills": "spilled registers",
    "scratch": "bytes of scratch",
    "vgprs": "vector registers",
    "lds_bytes": "bytes of LDS",
    "code_bytes": "bytes of code",
}
_RATIOS = {
    "valu_per_matrix": "VALU instructions per matrix instruction",
    "valu_per_tile": "VALU instructions per tile",
    "exposed_loads": "loads waited for at once",
}
_LAYER_KEYS = ((*_RESOURCES, "waves"), tuple(_RATIOS))


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a group; `role` is empty for limits of the whole kernel."""

    role: str
    key: str
    value: float
    place: Place


def limits_of(spec: Spec, index: int) -> tuple[Limit, ...]:
    """The limits of a group, each from the nearest layer that gives it."""
    found: dict[tuple[str, str], Limit] = {}
    for layer, path in layers(spec, index):
        limits: Limits | None = getattr(layer, "limits", None)
        for role, part in _parts(limits):
            for key in _LAYER_KEYS[bool(role)]:
                value = getattr(part, key)
                if value is not None and (role, key) not in found:
                    where = (*path, "limits", *([role] if role else []), key)
                    found[role, key] = Limit(role, key, value, spec.document.place(*where))
    return tuple(found.values())


def _parts(limits: Limits | None) -> Iterator[tuple[str, Limits | LoopLimits]]:
    if limits is None:
        return
    yield "", limits
    for role in ROLES:
        part: LoopLimits | None = getattr(limits, role)
        if part is not None:
            yield role, part


def check_limits(expansion: Expansion, reports: Iterable[CodeReport]) -> list[Diagnostic]:
    """One diagnostic per limit that an instance's code breaks, at the place of the limit.

    Limits of loops are for architectures that have a matrix instruction for the instance, those of loads that are
    waited for at once for architectures where code need not wait for loads before a barrier.
    """
    spec, instances = expansion.spec, {made.name: made for made in expansion.instances}
    by_group = {group.name: limits_of(spec, index) for index, group in enumerate(spec.groups)}
    found = []
    for report in reports:
        made = instances[report.name]
        has_atom = FAMILIES[made.family].atom(made, report.arch) is not None
        for limit in by_group[expansion.provenance[report.name].group]:
            waits = limit.key == "exposed_loads" and ARCHES[report.arch].barriers_wait
            broken = _broken(limit, report) if not limit.role or (has_atom and not waits) else ""
            if broken:
                message = f"{report.name} for {report.arch}: {broken}"
                found.append(Diagnostic(limit.place, "isa-limit", message))
    return found


def _broken(limit: Limit, report: CodeReport) -> str:
    """The text that says how a report breaks a limit; empty if it does not, or if the code has no such loop."""
    if limit.role:
        loop = report.loop(limit.role)
        value = None if loop is None else getattr(loop, limit.key)
        what = f"{_RATIOS[limit.key]} in the {limit.role} loop"
    elif limit.key == "waves":
        return f"{report.waves:g} waves per SIMD, at least {limit.value:g}" if report.waves < limit.value else ""
    else:
        resources = report.resources
        spills = resources.vgpr_spills + resources.sgpr_spills
        value = {"spills": spills, "scratch": resources.scratch_bytes, "vgprs": resources.vgprs}.get(limit.key)
        value = getattr(resources, limit.key) if value is None else value
        what = _RESOURCES[limit.key]
    return f"{value:.6g} {what}, at most {limit.value:g}" if value is not None and value > limit.value else ""
