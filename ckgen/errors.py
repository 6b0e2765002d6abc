"""What ckgen says when something is wrong: places, diagnostics and the one way they are printed.

Modules return or raise diagnostics; only the command line prints them. The printed form is

    instances.yaml:41:22: error[k-per-block-step]: k_per_block 20 is not a multiple of 16
       |
    41 |     k_per_block: [20, 32]
       |                   ^^
       = note: ...
       = help: ...
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

EXIT_DRIFT = 1
EXIT_USAGE = 2

# What others call a data type: numpy, PyTorch, Composable Kernel and the usual abbreviations.
_OTHER_WORDS = {
    **dict.fromkeys(("fp16", "float16", "half", "half_t"), "f16"),
    **dict.fromkeys(("bfloat16", "bhalf", "bhalf_t"), "bf16"),
    **dict.fromkeys(("fp32", "float32", "float"), "f32"),
}

# A line longer than this is cut around the caret, so that a minified file cannot flood the terminal.
_EXCERPT_WIDTH = 100


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of one line of a text file; line and column count from 1, length in characters."""

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong: where (if it has a place), which rule, what, and what to do about it.

    `notes` are further sentences, such as where the other axis values of a broken instance come from.
    """

    place: Place | None
    rule: str
    message: str
    help: str = ""
    severity: str = "error"
    notes: tuple[str, ...] = ()


class CkgenError(Exception):
    """A run that cannot go on: all its diagnostics and the exit code.

    Exit codes: 1 drift or a failed check, 2 wrong use or a wrong spec. The text, which a traceback shows, is what the
    command line prints without excerpts and notes.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], exit_code: int = EXIT_USAGE) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        self.exit_code = exit_code
        super().__init__("\n".join(_headline(d) + (f"\n = help: {d.help}" if d.help else "") for d in self.diagnostics))


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """In reading order: by file, line and column; those without a place last, else in the order given."""
    numbered = list(enumerate(diagnostics))

    def key(item: tuple[int, Diagnostic]) -> tuple[bool, str, int, int, int]:
        index, diagnostic = item
        place = diagnostic.place
        if place is None:
            return (True, "", 0, 0, index)
        return (False, place.file, place.line, place.column, index)

    return [diagnostic for _, diagnostic in sorted(numbered, key=key)]


def format_diagnostics(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> str:
    """All diagnostics as text for stderr, in reading order.

    Excerpts are shown where `texts` (file name -> text) holds the file. The result ends with a newline, or is
    empty when there are no diagnostics.
    """
    lines_of = {file: text.splitlines() for file, text in texts.items()}
    blocks = [
        _format_one(diagnostic, lines_of.get(diagnostic.place.file, []) if diagnostic.place else [])
        for diagnostic in sort_diagnostics(diagnostics)
    ]
    return "\n".join(block + "\n" for block in blocks)


def nearest(name: str, known: Sequence[str], count: int = 3) -> list[str]:
    """The known names most like `name` (case does not matter), best first; empty when none is close.

    Another word for a known name is that name alone, however unlike it is spelled.
    """
    word = _OTHER_WORDS.get(name.casefold())
    if word is not None and word in known:
        return [word]
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    matches = difflib.get_close_matches(name.casefold(), list(folded), n=count, cutoff=0.6)
    return [folded[match] for match in matches]


def one_of(names: Iterable[str]) -> str:
    """`a`, `b` or `c`: a list of alternatives as it reads in a sentence."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 1:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Help for an unknown name: the nearest known ones, else all of them when they are few."""
    close = nearest(name, known)
    if close:
        return f"did you mean {one_of(close[:2])}?"
    if known and len(known) <= 12:
        return f"known: {', '.join(known)}"
    return ""


def _headline(diagnostic: Diagnostic) -> str:
    where = f"{diagnostic.place}: " if diagnostic.place else ""
    return f"{where}{diagnostic.severity}[{diagnostic.rule}]: {diagnostic.message}"


def _format_one(diagnostic: Diagnostic, lines: list[str]) -> str:
    out = [_headline(diagnostic)]
    place = diagnostic.place
    margin = ""
    if place is not None and 1 <= place.line <= len(lines):
        text, column, length = _cut(lines[place.line - 1], place)
        margin = " " * len(str(place.line))
        out.append(f"{margin} |")
        out.append(f"{place.line} | {text}".rstrip())
        out.append(f"{margin} | {' ' * (column - 1)}{'^' * length}")
    out.extend(f"{margin} = note: {note}" for note in diagnostic.notes)
    if diagnostic.help:
        out.append(f"{margin} = help: {diagnostic.help}")
    return "\n".join(out)


def _cut(line: str, place: Place) -> tuple[str, int, int]:
    """The part of a line that holds the place; a tab becomes one blank, so the caret stays under its text."""
    line = "".join(" " if char < " " or char == "\x7f" else char for char in line)
    column = place.column
    length = max(1, min(place.length, len(line) - column + 1))
    if len(line) <= _EXCERPT_WIDTH:
        return line, column, length
    start = max(0, min(column - 1 - _EXCERPT_WIDTH // 3, len(line) - _EXCERPT_WIDTH))
    text = line[start : start + _EXCERPT_WIDTH]
    if start:
        text = "..." + text[3:]
    if start + _EXCERPT_WIDTH < len(line):
        text = text[:-3] + "..."
    return text, column - start, max(1, min(length, _EXCERPT_WIDTH - (column - start) + 1))
