"""Instances of ckgen's own spec that a problem needs on a device, the probably fastest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ckgen.conv.problem import ConvProblem
from ckgen.elementwise.function import PASS_THROUGH
from ckgen.generate.view_models import guard_of
from ckgen.hardware.archs import ARCHES, NVIDIA_ARCHES
from ckgen.instance.instance import Instance
from ckgen.paths import spec_file
from ckgen.selection.candidates import chain, runs_on, same_arch
from ckgen.selection.measured import load_tables
from ckgen.selection.takes import takes
from ckgen.spec.expand import expand_document
from ckgen.text import source

MOST = 4  # instances per gradient; the times of more hardly differ, and each takes seconds to compile
_SETS = {"amd": "full"}  # the set for other platforms is `torch`


class Target(NamedTuple):
    """The purpose of a library: a platform and an architecture of it, `host` for the host."""

    platform: Literal["host", "amd", "nvidia"]
    arch: str


HOST = Target("host", "host")


class Need(NamedTuple):
    """One gradient of a problem."""

    operation: str
    dtype: str
    layout: str
    problem: ConvProblem


def target_of(device: str) -> Target | None:
    """The target of a device by the name that it reports, sm_90 or gfx90a:sramecc+; None if no instance is for it."""
    name = device.partition(":")[0]
    if name in ARCHES:
        return Target("amd", name)
    return next((Target("nvidia", arch) for arch in NVIDIA_ARCHES if same_arch(arch, name)), None)


def kind_of(instance: Instance) -> str:
    """The part of an instance that is in the headers of its library: for another kind, everything in the library is
    compiled again."""
    return "-".join(part for part in (instance.operation, guard_of(instance.archs).lower()) if part)


class Known:
    """The instances of ckgen's own spec for a target."""

    def __init__(self, target: Target) -> None:
        expansion = expand_document(source.load(spec_file()))
        members = set(expansion.sets[_SETS.get(target.platform, "torch")])
        self._arch, self._tables = target.arch, load_tables()
        self._instances: dict[str, Instance] = {
            instance.name: instance
            for instance in expansion.instances
            if instance.name in members and instance.function == PASS_THROUGH and runs_on(instance.archs, target.arch)
        }

    def batch(self, names: Sequence[str], most: int) -> list[str]:
        """The first of these instances and others of its kind, as many as fit into a library."""
        kinds = {name: kind_of(self._instances[name]) for name in names}
        return [name for name in names if kinds[name] == kinds[names[0]]][:most]

    def ranked(self, need: Need) -> tuple[str, ...]:
        """All instances that could take this, the probably fastest first; generic ones are last."""
        kind = need.operation, need.dtype, need.layout
        alike = (one for one in self._instances.values() if (one.operation, one.dtype, one.layout) == kind)
        takers = [one for one in alike if takes(one, need.problem)]
        found = chain(need.problem, need.dtype, need.layout, self._arch, takers, self._tables, operation=need.operation)
        return tuple(sorted((choice.name for choice in found), key=lambda name: self._instances[name].generic))

    def needed(self, need: Need, generic: bool) -> tuple[str, ...]:
        """The instances to build for this. Generic ones, which are slow but take every valid problem, are among them
        only if asked for."""
        names = self.ranked(need)
        fast = [name for name in names if not self._instances[name].generic][:MOST]
        return tuple(fast) + tuple(name for name in names if generic and self._instances[name].generic)
