"""Expansion of groups into instances: the product of each group's axes, plus include, minus exclude, checked by every
rule.

Each instance keeps the places of the values that made it. Excluded and skipped combinations are kept with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ckgen.errors import CkgenError, Diagnostic, Place
from ckgen.instance.checker import Checker, Violation
from ckgen.instance.filters import Term, read_terms, select
from ckgen.instance.instance import Instance
from ckgen.instance.keys import Columns
from ckgen.spec.checks import IMPLIED_SETS
from ckgen.spec.collect import collect
from ckgen.spec.conflicts import Reporter
from ckgen.spec.models import Spec
from ckgen.spec.products import (
    Combination,
    Kind,
    Product,
    build,
    excluded_values,
    exclusions,
    kind_of,
    product_sizes,
    products,
    values_of,
)
from ckgen.spec.provenance import Provenance, Removed
from ckgen.text.source import Document

MAX_INSTANCES = 40_000
MAX_TESTS = 2_000_000  # of combinations against exclude entries, and of members against sets
MAX_FILTER_TESTS = 8_000_000  # of instances against the filters of sets
_PATTERN = 400  # tests of an instance that take as long as reading one filter


@dataclass(frozen=True, slots=True)
class Expansion:
    """The instances and sets of a spec, in the order of the file; the names in a set are in that order too."""

    spec: Spec
    instances: tuple[Instance, ...]
    sets: Mapping[str, tuple[str, ...]]
    provenance: Mapping[str, Provenance]
    removed: tuple[Removed, ...]


def expand(spec: Spec) -> Expansion:
    """All instances of a spec. Raises CkgenError (exit 2) that lists all problems with them at once."""
    expansion, problems = _expand(spec, whole=True)
    if problems:
        raise CkgenError(problems)
    return expansion


def expand_document(document: Document) -> Expansion:
    """The result of `expand` after `spec.parse`; one error lists the problems of form and those of instances."""
    spec, problems = collect(document)
    if spec is None:
        raise CkgenError(problems)
    expansion, more = _expand(spec, whole=not problems)
    if problems or more:
        raise CkgenError([*problems, *more])
    return expansion


def _expand(spec: Spec, *, whole: bool) -> tuple[Expansion, list[Diagnostic]]:
    """The expansion and its problems. `whole` is false if groups with problems were left out, so that missing names are
    not reported."""
    problems = _too_large(spec)
    if problems:
        return Expansion(spec, (), {}, {}, ()), problems
    work = _Work(spec)
    for index in range(len(spec.groups)):
        work.add_group(index, products(spec, index))
    problems = [*work.reporter.diagnostics(), *work.problems]
    sets: dict[str, tuple[str, ...]] = {}
    if whole and not problems:
        sets, problems = _sets(spec, work)
    else:
        problems += _unreadable_lines(spec)  # the members of sets are unknown, but their syntax can be checked
    instances = tuple(work.instances.values())
    return Expansion(spec, instances, sets, work.provenance, tuple(work.removed)), problems


def _too_large(spec: Spec) -> list[Diagnostic]:
    """Problems with specs that would take too long to expand, determined from the lengths of lists alone."""
    sizes = [product_sizes(spec, index) for index in range(len(spec.groups))]
    totals = [sum(own) for own in sizes]
    tests = [own[0] * excluded_values(group) for own, group in zip(sizes, spec.groups, strict=True)]
    members = [total * len(group.sets) for total, group in zip(totals, spec.groups, strict=True)]
    for numbers, most, what, advice in (
        (totals, MAX_INSTANCES, "stands for {own} of {all} instances", "shorten its axes"),
        (tests, MAX_TESTS, "asks for {own} of {all} tests of combinations by exclude entries", "shorten its exclude"),
        (members, MAX_TESTS, "stands for {own} of {all} members of sets", "use filters under `sets:`"),
    ):
        if sum(numbers) > most:
            index = max(range(len(numbers)), key=numbers.__getitem__)
            place = spec.document.place(*spec.group_path(index), "name")
            message = f"group `{spec.groups[index].name}` {what.format(own=numbers[index], all=sum(numbers))}"
            return [Diagnostic(place, "product-size", message, f"at most {most} are allowed; {advice}")]
    return []


@dataclass(slots=True)
class _Work:
    """The instances so far."""

    spec: Spec
    reporter: Reporter = field(default_factory=lambda: Reporter(Checker()))
    instances: dict[str, Instance] = field(default_factory=dict)
    provenance: dict[str, Provenance] = field(default_factory=dict)
    removed: list[Removed] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)  # of sets, from the `sets` of the groups
    problems: list[Diagnostic] = field(default_factory=list)

    def add_group(self, index: int, plan: Sequence[Product]) -> None:
        """Expand one group into the instances so far."""
        group = self.spec.groups[index]
        path = self.spec.group_path(index)
        tests = exclusions(group)
        used = [False] * len(tests)
        before, broken = len(self.instances), False
        for part in plan:
            shapes = _Shapes(kind_of(group), part, self.reporter.checker)
            for combination in part.combinations():
                instance, violations = shapes.resolve(combination)
                choices = tuple(choice for choice in (*combination, part.archs) if choice is not None)
                provenance = Provenance(group.name, part.place, choices)
                hit = None if part.included else _first_that_holds(tests, instance)
                if hit is not None:
                    used[hit] = True
                    place = self.spec.document.place(*path, "exclude", hit)
                    self.removed.append(Removed(instance, provenance, place))
                elif violations and group.invalid == "skip":
                    place = self.spec.document.place(*path, "invalid")
                    self.removed.append(Removed(instance, provenance, place, violations))
                elif violations:
                    broken = True
                    self.reporter.broke(instance, provenance, violations)
                else:
                    self._add(instance, provenance, group.sets)
        self._unused_excludes(index, used)
        if len(self.instances) == before and not broken:
            place = self.spec.document.place(*path, "name")
            message = f"nothing is left of group `{group.name}`"
            notes = tuple(f"{removed.instance.name}: {removed.reason}" for removed in self.removed[-1:])
            help_text = "narrow its exclude, or give it combinations that satisfy the rules"
            self.problems.append(Diagnostic(place, "empty-group", message, help_text, notes=notes))

    def _add(self, instance: Instance, provenance: Provenance, sets: Sequence[str]) -> None:
        name = instance.name
        if name in self.instances:
            self.reporter.clashed(name, self.provenance[name], provenance)
            return
        self.instances[name] = instance
        self.provenance[name] = provenance
        for set_name in sets:
            self.members.setdefault(set_name, []).append(name)

    def _unused_excludes(self, index: int, used: Sequence[bool]) -> None:
        for number, was_used in enumerate(used):
            if not was_used:
                place = self.spec.document.place(*self.spec.group_path(index), "exclude", number)
                message = "this exclude matches no combination that is still there"
                self.problems.append(Diagnostic(place, "unused-exclude", message, "remove or correct it"))


def _first_that_holds(tests: Sequence[Callable[[Instance], bool]], instance: Instance) -> int | None:
    for number, test in enumerate(tests):
        if test(instance):
            return number
    return None


class _Shapes:
    """A cache that builds and checks each shape once. Of the layout, the outermost axis, rules read few properties, and
    nothing depends on the function, the next one. Violations quote the layout."""

    def __init__(self, kind: Kind, part: Product, checker: Checker) -> None:
        self._kind = kind
        self._archs: tuple[str, ...] = part.archs.value if part.archs is not None else ()
        self._checker = checker
        self._read: dict[str, tuple[int, ...]] = {}  # by layout
        self._known: dict[tuple[int | str, ...], tuple[Instance, tuple[str, ...], tuple[Violation, ...]]] = {}

    def resolve(self, combination: Combination) -> tuple[Instance, tuple[Violation, ...]]:
        """The instance of a combination with its archs, and the rules that it breaks."""
        layout, function = combination[:2]
        assert layout is not None, "spec checks see to it that a group has layouts"
        if layout.value not in self._read:
            kind = self._kind
            self._read[layout.value] = self._checker.read_of_layout(kind.operation, kind.family, layout.value)
        key: tuple[int | str, ...] = (*map(id, combination[2:]), *self._read[layout.value])
        known = self._known.get(key) or self._known.get((*key, layout.value))
        if known is None:
            instance = build(self._kind, values_of(combination))
            broken, archs = self._checker.judge(instance, self._archs)
            known = (instance, archs, tuple(broken))
            self._known[(*key, layout.value) if broken else key] = known
        instance, archs, violations = known
        name = instance.function if function is None else function.value
        return instance.moved(layout.value, name, archs), violations


def _sets(spec: Spec, work: _Work) -> tuple[dict[str, tuple[str, ...]], list[Diagnostic]]:
    """The members of every set: the union of its filter lines and of the groups that name the set."""
    columns = Columns(tuple(work.instances.values()))
    problems = _too_many_filters(spec, len(columns.instances))
    found: dict[str, tuple[str, ...]] = {}
    if problems:
        return found, problems
    for name in dict.fromkeys((*spec.sets, *IMPLIED_SETS)):
        members = set(work.members.get(name, ()))
        lines = spec.sets.get(name, ())
        if name not in spec.sets and not members:
            lines = ("*",)
        for number, line in enumerate(lines):
            place = spec.document.place("sets", name, number)
            members.update(_line(line, place, columns, found, spec.sets, problems))
        found[name] = tuple(instance_name for instance_name in work.instances if instance_name in members)
        if not members and not problems:
            place = spec.document.key_place("sets", name)
            message = f"set `{name}` has no instances"
            problems.append(Diagnostic(place, "empty-set", message, "give it filters, or name it in a group"))
    return found, problems


def _unreadable_lines(spec: Spec) -> list[Diagnostic]:
    problems: list[Diagnostic] = []
    for name, lines in spec.sets.items():
        for number, line in enumerate(lines):
            problems += _terms(line, spec.document.place("sets", name, number))[1]
    return problems


def _terms(line: str, place: Place) -> tuple[tuple[Term, ...], list[Diagnostic]]:
    """The terms of a line, and a diagnostic per invalid word."""
    if not line.split():
        return (), [Diagnostic(place, "bad-filter", "this line is empty", "write `*` for everything, or remove it")]
    terms, unread = read_terms(line.split())
    return terms, [replace(diagnostic, place=place) for diagnostic in unread]


def _too_many_filters(spec: Spec, instances: int) -> list[Diagnostic]:
    values = sum(line.count(",") + len(line.split()) for lines in spec.sets.values() for line in lines)
    tests = (values + len(spec.sets)) * (instances + len(spec.sets) + _PATTERN)
    if tests <= MAX_FILTER_TESTS:
        return []
    message = f"{len(spec.sets)} sets with {values} values in their filters are too many for {instances} instances"
    return [Diagnostic(spec.document.key_place("sets"), "sets-size", message, "use globs such as tile=128x*")]


def _line(
    line: str,
    place: Place,
    columns: Columns,
    sets: Mapping[str, tuple[str, ...]],
    known: Collection[str],
    problems: list[Diagnostic],
) -> list[str]:
    """The members that one line of filters selects; the line may refer to the earlier sets in `sets`, but not to
    others of the `known` ones."""
    terms, unread = _terms(line, place)
    for value in dict.fromkeys(value for term in terms if term.key == "set" for value in term.values):
        if value in known and value not in sets:
            message = f"set `{value}` is not above this line, where its members are known"
            unread.append(Diagnostic(place, "set-order", message, "a set may name only sets above it: move it up"))
    selected, unmatched = ((), []) if unread else select(columns, terms, sets)
    problems += [replace(diagnostic, place=place) for diagnostic in unread or unmatched]
    return [instance.name for instance in selected]
