"""Type strings and serialised instances: their arguments by name, in order.

A type string is `Class<64, 64, ...>` as `GetTypeString` returns it; a serialised instance has every template argument,
with sequences as `Seq(1,4,8,2)` and without spaces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ckgen.families.registry import FAMILIES

# The classes of CK's tables by name, and the names of their arguments: fields of ckgen.ck.resolve.Row, and arguments
# that have one value in all instances.
_CLASSES = [
    (row, name, operation, family.name)
    for family in FAMILIES.values()
    for operation in family.operations
    if (usual := family.ck_class(operation)) is not None
    for row in (usual, usual.pipelined)
    if row is not None
    for name in (row.name, row.fused)
    if name
]
OPERATION_OF = {name: operation for _, name, operation, _ in _CLASSES}
FAMILY_OF = {name: family for _, name, _, family in reversed(_CLASSES)}
TYPE_STRING: Mapping[str, tuple[str, ...]] = {name: row.type_string for row, name, _, _ in _CLASSES}
# Those of classes that copy their tensors to channels-last ones, where they do.
TRANSPOSING: Mapping[str, tuple[str, ...]] = {
    name: (*row.type_string, *row.transposing) for row, name, _, _ in _CLASSES if row.transposing
}
SERIALISED: Mapping[str, tuple[str, ...]] = {
    name: row.serialised for row, name, _, _ in _CLASSES if row.serialised and name == row.name
}
# Template arguments that concern the copy of a tile to LDS and its place there: ckgen has rules of its own for them.
OF_COPY = frozenset(
    (
        "c_cluster",
        *(f"{part}_{word}" for part in "ab" for word in ("cluster", "order", "source_order", "dimension", "extra")),
    )
)
_TEXT = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*<(?P<arguments>.*)>\s*", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A class with its arguments as text; `names` are theirs in order, empty if the class is unknown."""

    name: str
    arguments: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def values(self) -> dict[str, str]:
        """The arguments by name."""
        return dict(zip(self.names, self.arguments, strict=True))

    @property
    def serialised(self) -> bool:
        """True for all template arguments, false for a type string."""
        return self.names == SERIALISED.get(self.name)


def parse(text: str) -> Parsed:
    """The parts of a row. Raises ValueError for text of another form, and for a known class with another number of
    arguments."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError("this is not Class<argument, ...>")
    name, arguments = match["name"], split(match["arguments"])
    if name not in TYPE_STRING:
        return Parsed(name, arguments, ())
    forms = [form[name] for form in (TYPE_STRING, TRANSPOSING, SERIALISED) if name in form]
    for names in forms:
        if len(names) == len(arguments):
            return Parsed(name, arguments, names)
    counts = " or ".join(str(len(names)) for names in forms)
    raise ValueError(f"{name} has {len(arguments)} arguments, it must have {counts}")


def split(arguments: str) -> tuple[str, ...]:
    """The arguments between commas that are not inside brackets."""
    return tuple("".join(part.split()) for part in re.split(r",(?![^<(]*[>)])", arguments))


def show(name: str, values: Mapping[str, object], *, serialised: bool = False, transposing: bool = False) -> str:
    """The text of a class with these arguments, spaced as CK does."""
    names = (SERIALISED if serialised else TRANSPOSING if transposing else TYPE_STRING)[name]
    separator = "," if serialised else ", "
    return f"{name}<{separator.join(str(values[key]) for key in names)}>"


def sequence(numbers: Sequence[int]) -> str:
    """Numbers as a serialised instance writes them."""
    return f"Seq({','.join(map(str, numbers))})"
