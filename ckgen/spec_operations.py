"""What a group asks of its operation: families, layouts, data types and functions that the operation has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ckgen.errors import Diagnostic, did_you_mean
from ckgen.function import BUILTINS, PASS_THROUGH
from ckgen.operation import OPERATIONS, Operation
from ckgen.spec import Axes, Spec
from ckgen.spec_errors import Path, find_place


def foreign_words(spec: Spec, index: int, layers: Sequence[tuple[Axes, Path]]) -> Iterator[Diagnostic]:
    """Words that the operation of a group does not know: in the nearest of its ``layers`` that gives an axis, in its
    include and in its exclude entries."""
    group, path = spec.groups[index], spec.group_path(index)
    operation = OPERATIONS[group.operation]
    parts: list[tuple[Axes, Path]] = [
        (axes, (*path, key, number))
        for key in ("include", "exclude")
        for number, axes in enumerate(getattr(group, key))
    ]
    if group.family not in operation.families:
        place = find_place(spec.document, (*path, "family"))
        message = f"{operation.name} has no family {group.family}"
        yield Diagnostic(place, "foreign-family", message, did_you_mean(group.family, operation.families))
    tables = {"layout": operation.layouts, "dtype": operation.dtypes, "function": _functions(spec, operation)}
    for axis, known in tables.items():
        given = [(axes, where) for axes, where in layers if getattr(axes, axis) is not None]
        for axes, where in (*given[:1], *parts):
            for number, word in enumerate(getattr(axes, axis) or ()):
                if word not in known:
                    place = find_place(spec.document, (*where, axis, number))
                    message = f"{operation.name} has no {axis} {word}"
                    yield Diagnostic(place, f"foreign-{axis}", message, did_you_mean(word, known))


def _functions(spec: Spec, operation: Operation) -> tuple[str, ...]:
    """The functions that a group may name; also broken ones of the file, of which their own diagnostics tell."""
    if not operation.fused:
        return (PASS_THROUGH,)
    entries = spec.document.node("functions")
    listed = entries.value if entries is not None and isinstance(entries.value, list) else []
    names = (entry.value.get("name") for entry in listed if isinstance(entry.value, dict))
    return (*BUILTINS, *(str(name.value) for name in names if name is not None))
