"""Every rule of the hardware and the kernels, each once: checked here, asserted by the rendered headers.

A condition is one integer expression that reads the same in Python and, after and/or/not -> &&/||/!, in C++.
It uses field and derived names of an instance; in rules of scope "arch" also `lds_limit` and `has_atom` of a
target.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType

from ckgen.hardware.archs import ARCHES, MATRIX_ARCHES, NVIDIA_ARCHES, find_arch, find_atom, find_warpgroup_atom
from ckgen.instance.instance import Instance
from ckgen.instance.rule import Rule
from ckgen.instance.rule_table import RULES
from ckgen.operations.operation import FAMILIES, OPERATIONS

ARCH_NAMES = ("lds_limit", "has_atom")
LAYOUT_NAMES = ("ndim", "groups_outermost", "channels_last")  # what else than a_rows derived values tell of a layout
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an instance breaks, with the numbers filled in."""

    rule: Rule
    message: str
    help: str


def names_in(condition: str) -> tuple[str, ...]:
    """The field, derived and architecture names a condition uses, in order of appearance."""
    words = dict.fromkeys(_WORD.findall(condition))
    return tuple(word for word in words if word not in ("and", "or", "not"))


class Checker:
    """The rules, compiled once. `check` costs some microseconds, so validity is cheap beside rendering."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        self._checks = {
            (operation, family, scope): _compile([rule for rule in rules if _is_for(rule, operation, family, scope)])
            for operation in OPERATIONS
            for family in FAMILIES
            for scope in ("domain", "tile", "instance", "arch")
        }
        self._by_layout = {
            (operation, family)
            for rule in rules
            if not set(LAYOUT_NAMES).isdisjoint(names_in(rule.condition))
            for operation in rule.operations
            for family in rule.families
        } | {
            (operation.name, family)
            for operation in OPERATIONS.values()
            if len({operation.a_k_major(layout) for layout in operation.layouts}) > 1
            for family in FAMILIES
        }

    def goes_by_layout(self, operation: str, family: str) -> bool:
        """Whether a layout can make a difference to the rules that such instances keep."""
        return (operation, family) in self._by_layout

    def broken(self, instance: Instance) -> list[Rule]:
        """The architecture-independent rules an instance breaks.

        Only those of the first scope that has any: a tile that does not split into waves breaks rules about
        copies too, and telling them would hide the cause.
        """
        for scope in ("domain", "tile", "instance"):
            found = self._checks[instance.operation, instance.family, scope](instance, 0, False)
            if found:
                return found
        return []

    def broken_on(self, instance: Instance, arch: str) -> list[Rule]:
        """The rules an instance breaks on one architecture, AMD's or NVIDIA's; needs `broken` to be empty."""
        check = self._checks[instance.operation, instance.family, "arch"]
        return check(instance, find_arch(arch).lds_bytes, _has_atom(instance, arch))

    def supported_archs(self, instance: Instance) -> tuple[str, ...]:
        """Where an instance can run: AMD architectures (with MFMA unless it is generic) whose rules it keeps;
        NVIDIA's for families that exist on those only."""
        if instance.uses_tma:
            return self.nvidia_archs(instance)
        candidates = ARCHES if instance.generic else MATRIX_ARCHES
        return tuple(arch for arch in candidates if not self.broken_on(instance, arch))

    def nvidia_archs(self, instance: Instance) -> tuple[str, ...]:
        """Where a library for platform nvidia can run an instance."""
        return tuple(arch for arch in NVIDIA_ARCHES if not self.broken_on(instance, arch))

    def violations(self, instance: Instance, archs: Sequence[str] = ()) -> list[Violation]:
        """Everything wrong with an instance, with numbers.

        With `archs` it must keep the rules of each of them, else of at least one architecture.
        """
        broken = self.broken(instance)
        if broken:
            return [describe(rule, instance) for rule in broken]
        found: dict[str, Violation] = {}
        if archs or not self.supported_archs(instance):
            for arch in archs or _home(instance):
                for rule in self.broken_on(instance, arch):
                    found.setdefault(rule.id, describe(rule, instance, arch))
        return list(found.values())


def _is_for(rule: Rule, operation: str, family: str, scope: str) -> bool:
    return rule.scope == scope and family in rule.families and operation in rule.operations


def _has_atom(instance: Instance, arch: str) -> bool:
    """Whether an architecture has the matrix instruction of an instance.

    On NVIDIA the portable atom stands in for MFMA where there is no mma.sync, so every data type has one.
    """
    if instance.uses_tma:
        return find_warpgroup_atom(arch, instance.dtype) is not None
    return arch in NVIDIA_ARCHES or find_atom(arch, instance.dtype, instance.m_per_xdl) is not None


def _home(instance: Instance) -> tuple[str, ...]:
    """The architectures an instance is written for."""
    if not instance.uses_tma:
        return MATRIX_ARCHES
    return tuple(arch for arch in NVIDIA_ARCHES if find_warpgroup_atom(arch, instance.dtype) is not None)


def describe(rule: Rule, instance: Instance, arch: str = "") -> Violation:
    """The rule's message and help with the instance's numbers."""
    values: dict[str, object] = {"arch": arch, "dtype": instance.dtype, "family": instance.family}
    for name in _WORD.findall(" ".join(re.findall(r"\{(\w+)\}", rule.message + rule.help))):
        if name == "lds_limit":
            values[name] = find_arch(arch).lds_bytes
        elif name not in values:
            values[name] = getattr(instance, name)
    return Violation(rule, rule.message.format(**values), rule.help.format(**values))


def _compile(rules: Sequence[Rule]) -> Callable[[Instance, int, bool], list[Rule]]:
    """One function that evaluates all conditions over an instance, each name read once."""
    names = [name for rule in rules for name in names_in(rule.condition) if name not in ARCH_NAMES]
    lines = ["def check(instance, lds_limit, has_atom):"]
    lines += [f"    {name} = instance.{name}" for name in dict.fromkeys(names)]
    lines += ["    broken = []"]
    for index, rule in enumerate(rules):
        lines += [f"    if not ({rule.condition}):", f"        broken.append(rules[{index}])"]
    lines += ["    return broken"]
    code: CodeType = compile("\n".join(lines), "<ckgen rules>", "exec")
    scope: dict[str, object] = {"rules": tuple(rules)}
    exec(code, scope)
    check: Callable[[Instance, int, bool], list[Rule]] = scope["check"]  # type: ignore[assignment]
    return check
