"""Checks of a group against its operation: families, layouts, data types and functions that the operation has."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from ckgen.elementwise.function import BUILTINS
from ckgen.errors import Diagnostic, Place, did_you_mean
from ckgen.families.registry import FAMILIES_OF
from ckgen.operations.operation import OPERATIONS, Operation
from ckgen.spec.models import Axes, Spec
from ckgen.spec.translate import Path, find_place
from ckgen.text.source import Document


class ForeignWords:
    """A checker for words that a group's operation does not know. Defaults are shared by many groups and are reported
    once."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._functions = _function_names(spec.document)
        self._known: dict[tuple[str, str, Path], list[Diagnostic]] = {}

    def of_group(self, index: int, layers: Sequence[tuple[Axes, Path]]) -> Iterator[Diagnostic]:
        """Problems with words that the operation does not know: in the nearest of the group's ``layers`` that gives an
        axis, in its include entries and in its exclude entries. For defaults that were already reported, only the first
        word."""
        group, path = self._spec.groups[index], self._spec.group_path(index)
        operation = OPERATIONS[group.operation]
        families = FAMILIES_OF[operation.name]
        if group.family not in families:
            place = find_place(self._spec.document, (*path, "family"))
            message = f"{operation.name} has no family {group.family}"
            yield Diagnostic(place, "foreign-family", message, did_you_mean(group.family, families))
        parts: list[tuple[Axes, Path]] = [
            (axes, (*path, key, number))
            for key in ("include", "exclude")
            for number, axes in enumerate(getattr(group, key))
        ]
        for axis in ("layout", "dtype", "function"):
            given = [(axes, where) for axes, where in layers if getattr(axes, axis) is not None]
            for axes, where in (*given[:1], *parts):
                yield from self._in_axis(operation, axis, axes, where)

    def _in_axis(self, operation: Operation, axis: str, axes: Axes, where: Path) -> list[Diagnostic]:
        key = (operation.name, axis, where)
        if key in self._known:
            return self._known[key][:1]
        words: dict[str, Collection[str]] = {
            "layout": operation.layouts,
            "dtype": operation.dtypes,
            "function": self._functions,
        }
        found = []
        for number, word in enumerate(getattr(axes, axis) or ()):
            place = find_place(self._spec.document, (*where, axis, number))
            if word not in words[axis]:
                message = f"{operation.name} has no {axis} {word}"
                suggest = partial(did_you_mean, word, words[axis])
                found.append(Diagnostic(place, f"foreign-{axis}", message, find_help=suggest))
            elif axis == "function":
                found += self._foreign_layouts(operation, word, place)
        self._known[key] = found
        return found

    def _foreign_layouts(self, operation: Operation, function: str, place: Place | None) -> Iterator[Diagnostic]:
        """Layouts of a function's D tensors that the operation does not have."""
        known = {own.name: own for own in self._spec._own_functions}
        for kind in known[function].kinds if function in known else ():
            if kind.layout is not None and kind.layout not in operation.own_d_layouts:
                message = f"{operation.name} has no D tensor of layout {kind.layout}, as {function} has"
                suggest = partial(did_you_mean, kind.layout, operation.own_d_layouts)
                yield Diagnostic(place, "foreign-d-layout", message, find_help=suggest)


def _function_names(document: Document) -> Collection[str]:
    """The functions that a group may name, including the invalid ones of the file, which have their own diagnostics."""
    entries = document.node("functions")
    listed = entries.value if entries is not None and isinstance(entries.value, list) else []
    names = (entry.value.get("name") for entry in listed if isinstance(entry.value, dict))
    return dict.fromkeys((*BUILTINS, *(str(name.value) for name in names if name is not None))).keys()
