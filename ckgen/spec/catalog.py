"""The catalogue as tables: existing instances, supported combinations, and the differences between two catalogues."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.elementwise.function import PASS_THROUGH, Function, Kind
from ckgen.families.registry import FAMILIES
from ckgen.instance.instance import CONV_SPECS, FIELD_NAMES, Instance, derived, primary

Sets = Mapping[str, Collection[str]]
Functions = Mapping[str, Function]

LIST_HEADERS = ("name", "id", "tile", "waves", "vector", "stages", "lds", "archs", "sets")
# Beside or instead of the name, and in the order in which a narrow terminal keeps them.
SPLIT_HEADERS = ("id", "operation", "family", "layout", "dtype", "conv_spec", *LIST_HEADERS[2:])
MOST_WANTED = ("id", "family", "tile", "dtype", "waves", "conv_spec", "vector", "operation", "layout", "stages")
MATRIX_HEADERS = ("operation", "ndim", "layout", "dtype", *FAMILIES, "functions", "conv_spec", "generic", "archs")


def list_rows(instances: Iterable[Instance], sets: Sets) -> list[tuple[str, ...]]:
    """One row of LIST_HEADERS per instance, in the order given."""
    members = {name: frozenset(names) for name, names in sets.items()}
    return [_list_row(instance, members) for instance in instances]


def split_rows(instances: Iterable[Instance], sets: Sets) -> list[tuple[str, ...]]:
    """One row of SPLIT_HEADERS per instance, in the order given: the parts of its name in columns of their own."""
    every = tuple(instances)
    shown = zip(every, list_rows(every, sets), strict=True)
    return [
        (row[1], f"{i.operation.removeprefix('grouped_conv_')} {i.ndim}D", i.family, i.layout, i.dtype)
        + (CONV_SPECS[i.conv_spec] + (" generic" if i.generic else ""), *row[2:])
        for i, row in shown
    ]


def list_records(instances: Iterable[Instance], sets: Sets) -> list[dict[str, Any]]:
    """All properties of each instance as plain data, ready for JSON."""
    members = {name: frozenset(names) for name, names in sets.items()}
    return [
        {
            "name": instance.name,
            "id": instance.short_id,
            "fields": primary(instance),
            "derived": derived(instance),
            "archs": list(instance.archs),
            "sets": _sets_of(instance, members),
            "add_function": instance.add_function,
        }
        for instance in instances
    ]


def support_matrix(instances: Iterable[Instance]) -> list[tuple[str, ...]]:
    """One row of MATRIX_HEADERS per existing (operation, layout, dtype).

    The columns of families count tuned instances, including those of each of `functions`; `generic` is set if every
    valid problem has an instance.
    """
    cells: dict[tuple[str, str, str], list[Instance]] = {}
    for instance in instances:
        cells.setdefault((instance.operation, instance.layout, instance.dtype), []).append(instance)
    return [_matrix_row(key, members) for key, members in cells.items()]


@dataclass(frozen=True, slots=True)
class Change:
    """One changed instance: it has other architectures or sets, or one field differs.

    `old` and `new` are names, equal unless a field changed. `what` describes the difference in words.
    """

    old: str
    new: str
    what: str


@dataclass(frozen=True, slots=True)
class CatalogDiff:
    """The differences between two catalogues, each part in name order."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


def diff(
    old: Sequence[Instance],
    new: Sequence[Instance],
    old_sets: Sets,
    new_sets: Sets,
    functions: tuple[Functions, Functions] = ({}, {}),
) -> CatalogDiff:
    """The difference of two catalogues by name, with each removed instance paired with the added one that replaces it.

    An added and a removed instance count as one change if they differ in one field and no other pair competes. An
    instance also counts as changed if it keeps its name but its function differs between the old and the new spec.
    """
    before = {instance.name: instance for instance in old}
    after = {instance.name: instance for instance in new}
    removed = [before[name] for name in sorted(before.keys() - after.keys())]
    added = [after[name] for name in sorted(after.keys() - before.keys())]
    changes = [
        Change(name, name, what)
        for name in sorted(before.keys() & after.keys())
        if (what := _moved(before[name], after[name], old_sets, new_sets, functions))
    ]
    replaced = _replacements(removed, added)
    changes += [Change(a.name, b.name, what) for a, b, what in replaced]
    gone = {a.name for a, _, _ in replaced}
    come = {b.name for _, b, _ in replaced}
    return CatalogDiff(
        tuple(instance.name for instance in added if instance.name not in come),
        tuple(instance.name for instance in removed if instance.name not in gone),
        tuple(sorted(changes, key=lambda change: change.new)),
    )


def _list_row(instance: Instance, members: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    return (
        instance.name,
        instance.short_id,
        f"{instance.m_per_block}x{instance.n_per_block}x{instance.k_per_block}",
        f"{instance.load_waves}x{instance.math_waves}",
        f"{instance.a_vector}x{instance.b_vector}x{instance.c_vector}",
        str(instance.stages),
        str(instance.lds_bytes),
        " ".join(instance.archs),
        " ".join(_sets_of(instance, members)),
    )


def _sets_of(instance: Instance, members: Mapping[str, Collection[str]]) -> list[str]:
    return [name for name, names in members.items() if instance.name in names]


def _matrix_row(key: tuple[str, str, str], members: Sequence[Instance]) -> tuple[str, ...]:
    operation, layout, dtype = key
    tuned = [instance for instance in members if not instance.generic]
    counts = [sum(instance.family == family for instance in tuned) for family in FAMILIES]
    specs = [spec for spec in CONV_SPECS if any(instance.conv_spec == spec for instance in members)]
    archs = dict.fromkeys(arch for instance in members for arch in instance.archs)
    generic = "yes" if len(tuned) < len(members) else "no"
    numbers = (str(count or "-") for count in counts)
    functions = dict.fromkeys(instance.function for instance in members if instance.function != PASS_THROUGH)
    return (
        operation,
        str(members[0].ndim),
        layout,
        dtype,
        *numbers,
        ", ".join(functions) or "-",
        ", ".join(specs),
        generic,
        " ".join(archs),
    )


def _moved(old: Instance, new: Instance, old_sets: Sets, new_sets: Sets, functions: tuple[Functions, Functions]) -> str:
    """The differences of an instance that is in both catalogues, in words; empty if there are none."""
    earlier, later = (known.get(new.function) for known in functions)
    parts = _function_moved(earlier, later) if earlier and later else []
    if old.archs != new.archs:
        parts.append(_plus_minus("archs", old.archs, new.archs))
    before = [name for name, names in old_sets.items() if old.name in names]
    after = [name for name, names in new_sets.items() if new.name in names]
    if set(before) != set(after):
        parts.append(_plus_minus("sets", before, after))
    return "; ".join(parts)


def _function_moved(old: Function, new: Function) -> list[str]:
    """The differing parts of a function; the spacing of its expression is ignored."""
    parts = []
    if old.tree != new.tree:
        parts.append(f"{new.name} {' '.join(old.text.split())} -> {' '.join(new.text.split())}")
    if old.scalars != new.scalars:
        one, two = (", ".join(f"{name} {value:g}" for name, value in each.scalars) for each in (old, new))
        parts.append(f"scalars of {new.name} {one} -> {two}")
    if (old.tensors, old.kinds) != (new.tensors, new.kinds):
        one, two = (", ".join(map(_tensor_text, each.tensors, each.kinds)) for each in (old, new))
        parts.append(f"tensors of {new.name} {one} -> {two}")
    return parts


def _tensor_text(name: str, kind: Kind) -> str:
    return " ".join(filter(None, (name, kind.dtype, kind.layout)))


def _plus_minus(what: str, old: Collection[str], new: Collection[str]) -> str:
    moves = [f"-{name}" for name in old if name not in new] + [f"+{name}" for name in new if name not in old]
    return f"{what} {' '.join(moves)}"


def _replacements(removed: Sequence[Instance], added: Sequence[Instance]) -> list[tuple[Instance, Instance, str]]:
    """Pairs that differ in one field, where neither instance is in another such pair."""
    found: list[tuple[Instance, Instance, str]] = []
    for field in FIELD_NAMES:
        olds, news = _by_rest(removed, field), _by_rest(added, field)
        for rest in olds.keys() & news.keys():
            if len(olds[rest]) == len(news[rest]) == 1:
                a, b = olds[rest][0], news[rest][0]
                found.append((a, b, f"{field} {getattr(a, field)} -> {getattr(b, field)}"))
    rivals = [name for a, b, _ in found for name in (a.name, b.name)]
    return [pair for pair in found if rivals.count(pair[0].name) == rivals.count(pair[1].name) == 1]


def _by_rest(instances: Iterable[Instance], field: str) -> dict[tuple[object, ...], list[Instance]]:
    groups: dict[tuple[object, ...], list[Instance]] = {}
    for instance in instances:
        rest = tuple(getattr(instance, name) for name in FIELD_NAMES if name != field)
        groups.setdefault(rest, []).append(instance)
    return groups
