"""Derived values: one table of integer expressions per family, evaluated here and rendered to C++.

An expression may use fields, the values given by the layout and the data type, and other values of its table, in any
order. Its syntax is integers, names, + - * // %, comparisons, and/or/not, `x if c else y`, min and max.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen.families.fields import Fields

_NAME = re.compile(r"[A-Za-z_]\w*")
_WORDS = frozenset({"and", "or", "not", "if", "else", "min", "max"})
GIVEN = ""  # the expression of a value that is given by the layout or the data type


@dataclass(frozen=True, slots=True)
class Value:
    """One derived value; `meaning` is its description in `ckgen explain`, with its unit."""

    name: str
    meaning: str
    expression: str = GIVEN


def names_in(expression: str) -> tuple[str, ...]:
    """The names that an expression reads, in order of appearance."""
    return tuple(word for word in dict.fromkeys(_NAME.findall(expression)) if word not in _WORDS)


class Formulas:
    """A table of derived values, compiled once."""

    def __init__(self, table: Sequence[Value]) -> None:
        self.table = tuple(table)
        self.names = tuple(value.name for value in table)
        self._expressions = {value.name: value.expression for value in table}
        self._evaluate = self._compiled()

    def ordered(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """The given names and all names that they depend on, sorted so that each follows the names it reads."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in found:
                for read in names_in(self._expressions.get(name, GIVEN)):
                    visit(read)
                found[name] = None

        for name in wanted:
            visit(name)
        return tuple(found)

    def statements(self, wanted: Iterable[str]) -> list[str]:
        """Python statements that compute each wanted name for `instance`."""
        return [f"{name} = {self._expressions.get(name) or f'instance.{name}'}" for name in self.ordered(wanted)]

    def meaning(self, name: str) -> str:
        """The description of a value."""
        return next(value.meaning for value in self.table if value.name == name)

    def values(self, instance: Fields) -> Mapping[str, int]:
        """Every derived value of an instance by name, in the order of the table; not to be changed, since instances
        with the same given values share them."""
        return self._evaluate(instance)

    def _compiled(self) -> Callable[[Fields], Mapping[str, int]]:
        names = self.ordered(self.names)
        given = [name for name in names if not self._expressions.get(name)]
        lines = ["@cache", f"def shared({', '.join(given)}):"]
        lines += [f"    {name} = {self._expressions[name]}" for name in names if name not in given]
        lines.append(f"    return {{{', '.join(f'{name!r}: {name}' for name in self.names)}}}")
        lines.append(f"def evaluate(instance): return shared({', '.join(f'instance.{name}' for name in given)})")
        scope: dict[str, Any] = {"cache": cache}
        exec(compile("\n".join(lines), "<ckgen derived values>", "exec"), scope)
        evaluate: Callable[[Fields], Mapping[str, int]] = scope["evaluate"]
        return evaluate


AS_STORED = Value(
    "as_stored", "1 if elements are multiplied in the type of their tensors, 0 if they are rounded to another."
)
