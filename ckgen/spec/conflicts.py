"""Problems with the instances of a spec, reported once per cause instead of once per instance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from ckgen.errors import Diagnostic, Place
from ckgen.instance.checker import Checker, Violation
from ckgen.instance.instance import Instance
from ckgen.spec.nearest_valid import repairs
from ckgen.spec.products import kind_of, values_of
from ckgen.spec.provenance import Choice, Provenance


@dataclass(slots=True)
class _Cause:
    """One rule broken in one way by the same value, with the first instance and the number of instances."""

    violation: Violation
    instance: Instance
    provenance: Provenance
    count: int = 1


@dataclass(slots=True)
class _Clash:
    """Two products that make the same instances."""

    name: str
    first: Provenance
    second: Provenance
    count: int = 1


@dataclass(slots=True)
class Reporter:
    """Collects broken rules and duplicates while groups are expanded."""

    checker: Checker
    _causes: dict[tuple[Place, str, str], _Cause] = field(default_factory=dict)
    _clashes: dict[tuple[Place, Place], _Clash] = field(default_factory=dict)

    def broke(self, instance: Instance, provenance: Provenance, violations: tuple[Violation, ...]) -> None:
        """Record an instance of the spec that breaks rules."""
        for violation in violations:
            key = (_blame(provenance, violation)[0], violation.rule.id, violation.message)
            cause = self._causes.get(key)
            if cause is None:
                self._causes[key] = _Cause(violation, instance, provenance)
            else:
                cause.count += 1

    def clashed(self, name: str, first: Provenance, second: Provenance) -> None:
        """Record an instance that is made twice."""
        clash = self._clashes.get((first.place, second.place))
        if clash is None:
            self._clashes[(first.place, second.place)] = _Clash(name, first, second)
        else:
            clash.count += 1

    def diagnostics(self) -> Iterator[Diagnostic]:
        """One diagnostic per cause."""
        for cause in self._causes.values():
            yield self._cause(cause)
        for clash in self._clashes.values():
            yield _duplicate(clash)

    def _cause(self, cause: _Cause) -> Diagnostic:
        rule, provenance = cause.violation.rule, cause.provenance
        place, blamed = _blame(provenance, cause.violation)
        others = [choice for axis in rule.blame if (choice := provenance.choice(axis)) and choice is not blamed]
        made = ", ".join(f"{choice.axis} {choice.text} ({choice.place})" for choice in others)
        notes = [f"with {made}"] if made else []
        more = f" and {cause.count - 1} more" if cause.count > 1 else ""
        notes.append(f"in {cause.instance.name}{more} of group `{provenance.group}`")
        find_help = partial(self._help, cause)
        return Diagnostic(place, rule.id, cause.violation.message, notes=tuple(notes), find_help=find_help)

    def _help(self, cause: _Cause) -> str:
        """Help: a nearby change that satisfies every rule if there is one, else the rule's own advice."""
        instance, rule = cause.instance, cause.violation.rule
        values = values_of(cause.provenance.choices)
        archs = values.get("archs", ())
        found = repairs(kind_of(instance), values, rule.blame, self.checker, archs)
        if not found:
            return cause.violation.help
        return f"{found[0][0]} {' or '.join(value for _, value in found)} would satisfy every rule"


def _blame(provenance: Provenance, violation: Violation) -> tuple[Place, Choice | None]:
    """The place that a broken rule points at: the first value in the file that it blames, else the group."""
    for axis in violation.rule.blame:
        choice = provenance.choice(axis)
        if choice is not None:
            return choice.place, choice
    return provenance.place, None


def _duplicate(clash: _Clash) -> Diagnostic:
    """The diagnostic for two groups or products that overlap, or for two choices within one product with the same
    result."""
    first, second = clash.first, clash.second
    more = f" and {clash.count - 1} more" if clash.count > 1 else ""
    message = f"{clash.name}{more} made again by group `{second.group}`"
    pairs = [(a, b) for b in second.choices if (a := first.choice(b.axis)) is not None and a != b]
    if first.place == second.place and pairs:
        before, again = pairs[-1]
        note = f"{again.axis} {before.text} makes it first, at {before.place}"
        return Diagnostic(again.place, "duplicate-instance", message, f"leave out {again.text}", notes=(note,))
    note = f"group `{first.group}` makes it first, at {first.place}"
    return Diagnostic(second.place, "duplicate-instance", message, "narrow or exclude one", notes=(note,))
