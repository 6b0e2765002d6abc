"""Places of characters inside a YAML value, for values that are themselves text in a small language."""

from __future__ import annotations

import re
from dataclasses import replace

from ckgen.errors import Place
from ckgen.text.source import Document, Key

_BLACK = re.compile(r"\S")


def place_inside(document: Document, path: tuple[Key, ...], offset: int, length: int) -> Place | None:
    """Return the place in the file of ``length`` characters from ``offset`` on in the text at ``path``.

    Plain, quoted and block scalars appear in the file as they are, except for white space. Returns None if the file
    has escapes or an alias instead. A span that continues on the next line is cut at the line's end.
    """
    node = document.node(*path)
    if node is None or not isinstance(node.value, str):
        return None
    lines = document.lines
    spots = _spots(lines, node.place, node.value)
    if spots is None or not spots:
        return None
    row, column = spots[offset] if offset < len(spots) else _after(spots[-1])
    last = spots[min(offset + length, len(spots)) - 1]
    end = last[1] + 1 if last[0] == row else len(lines[row])
    return replace(node.place, line=row + 1, column=column + 1, length=max(1, end - column))


def _after(spot: tuple[int, int]) -> tuple[int, int]:
    return spot[0], spot[1] + 1


def _spots(lines: list[str], place: Place, value: str) -> list[tuple[int, int]] | None:
    """Row and column, from 0, of each character of a value. White space is placed directly after its predecessor."""
    row, column = place.line - 1, place.column - 1
    if lines[row][column] in "|>":
        row, column = row + 1, 0
    elif lines[row][column] in "'\"":
        column += 1
    spots: list[tuple[int, int]] = []
    for char in value:
        if char.isspace():
            spots.append(_after(spots[-1]) if spots else (row, column))
            continue
        while row < len(lines) and (at := _BLACK.search(lines[row], column)) is None:
            row, column = row + 1, 0
        if row == len(lines) or at is None:
            return None
        column = at.start()
        if lines[row][column] != char:
            return None
        spots.append((row, column))
        column += 1
    return spots
