"""The checker of all rules of hardware and kernels; each rule is written once, checked here and asserted by the
rendered headers.

A condition is one integer expression that reads the same in Python and, with && || ! for and/or/not, in C++. It uses
the names of an instance's fields and derived values, and in rules of scope "arch" also `lds_limit` and `has_atom` of an
architecture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType

from ckgen.families.family import Family
from ckgen.families.fields import Fields
from ckgen.families.formulas import names_in
from ckgen.families.registry import FAMILIES, RULES
from ckgen.families.rule import Rule
from ckgen.hardware.archs import NVIDIA_ARCHES, find_arch
from ckgen.instance.instance import Instance
from ckgen.operations.operation import OPERATIONS

ARCH_NAMES = ("lds_limit", "has_atom")
# All that rules and derived values use of a layout.
LAYOUT_NAMES = (
    *("ndim", "groups_outermost", "channels_last"),
    *("a_channels_last", "b_channels_last", "c_channels_last"),
    *("a_k_major", "b_k_major", "c_m_major"),
)
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an instance breaks, with the numbers filled in."""

    rule: Rule
    message: str
    help: str


@dataclass(frozen=True)
class _Placed(Fields):
    """The fields that the properties of a layout depend on."""

    operation: str
    layout: str


class Checker:
    """The rules, compiled once. `check` takes a few microseconds, which is little compared with rendering."""

    def __init__(self, rules: Sequence[Rule] = RULES) -> None:
        own = {
            (operation, family.name): [rule for rule in rules if family.has_rule(rule, operation)]
            for operation in OPERATIONS
            for family in FAMILIES.values()
        }
        self._checks = {
            (operation, family, scope): _compile([rule for rule in kept if rule.scope == scope], FAMILIES[family])
            for (operation, family), kept in own.items()
            for scope in ("domain", "tile", "instance", "arch")
        }
        self._of_layout = {
            kind: sorted({name for rule in kept for name in names_in(rule.condition)}.intersection(LAYOUT_NAMES))
            for kind, kept in own.items()
        }

    def read_of_layout(self, operation: str, family: str, layout: str) -> tuple[int, ...]:
        """The properties of the layout that the rules of such instances read."""
        known = _Placed(operation, layout)
        return tuple(getattr(known, name) for name in self._of_layout[operation, family])

    def broken(self, instance: Instance) -> list[Rule]:
        """The architecture-independent rules that an instance breaks.

        Only the first scope with broken rules is reported: a tile that does not split into waves also breaks rules
        about copies, and reporting those would hide the cause.
        """
        for scope in ("domain", "tile", "instance"):
            found = self._checks[instance.operation, instance.family, scope](instance, 0, False)
            if found:
                return found
        return []

    def broken_on(self, instance: Instance, arch: str) -> list[Rule]:
        """The rules that an instance breaks on one AMD or NVIDIA architecture; requires that `broken` is empty."""
        check = self._checks[instance.operation, instance.family, "arch"]
        return check(instance, find_arch(arch).lds_limit, FAMILIES[instance.family].has_atom(instance, arch))

    def supported_archs(self, instance: Instance) -> tuple[str, ...]:
        """The architectures for which an instance can be built: AMD architectures (with MFMA unless it is generic)
        whose rules it satisfies, and NVIDIA architectures for NVIDIA-only families."""
        candidates = FAMILIES[instance.family].archs(instance)
        return tuple(arch for arch in candidates if not self.broken_on(instance, arch))

    def nvidia_archs(self, instance: Instance) -> tuple[str, ...]:
        """The architectures on which a library for platform nvidia can run an instance."""
        if FAMILIES[instance.family].amd_only:
            return ()
        return tuple(arch for arch in NVIDIA_ARCHES if not self.broken_on(instance, arch))

    def violations(self, instance: Instance, archs: Sequence[str] = ()) -> list[Violation]:
        """All rules that an instance breaks, with numbers.

        The instance must satisfy the rules of every architecture in `archs`, or of at least one if `archs` is empty.
        """
        return self.judge(instance, archs)[0]

    def judge(self, instance: Instance, archs: Sequence[str] = ()) -> tuple[list[Violation], tuple[str, ...]]:
        """The `violations` of an instance, and the architectures for which it can be built; one of them is empty."""
        broken = self.broken(instance)
        if broken:
            return [describe(rule, instance) for rule in broken], ()
        supported = () if archs else self.supported_archs(instance)
        if supported:
            return [], supported
        found: dict[str, Violation] = {}
        for arch in archs or FAMILIES[instance.family].home(instance.dtype):
            for rule in self.broken_on(instance, arch):
                found.setdefault(rule.id, describe(rule, instance, arch))
        return list(found.values()), () if found else tuple(archs)


def describe(rule: Rule, instance: Instance, arch: str = "") -> Violation:
    """The rule's message and help with the instance's numbers."""
    values: dict[str, object] = {"arch": arch, "dtype": instance.dtype, "family": instance.family}
    for name in _WORD.findall(" ".join(re.findall(r"\{(\w+)\}", rule.message + rule.help))):
        if name == "lds_limit":
            values[name] = find_arch(arch).lds_limit
        elif name not in values:
            values[name] = getattr(instance, name)
    return Violation(rule, rule.message.format(**values), rule.help.format(**values))


def _compile(rules: Sequence[Rule], family: Family) -> Callable[[Instance, int, bool], list[Rule]]:
    """A function that evaluates all conditions for an instance and reads or derives each name once."""
    names = [name for rule in rules for name in names_in(rule.condition) if name not in ARCH_NAMES]
    lines = ["def check(instance, lds_limit, has_atom):"]
    lines += [f"    {statement}" for statement in family.formulas.statements(names)]
    lines += ["    broken = []"]
    for index, rule in enumerate(rules):
        lines += [f"    if not ({rule.condition}):", f"        broken.append(rules[{index}])"]
    lines += ["    return broken"]
    code: CodeType = compile("\n".join(lines), "<ckgen rules>", "exec")
    scope: dict[str, object] = {"rules": tuple(rules)}
    exec(code, scope)
    check: Callable[[Instance, int, bool], list[Rule]] = scope["check"]  # type: ignore[assignment]
    return check
