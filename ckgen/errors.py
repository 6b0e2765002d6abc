"""Diagnostics: messages with their places, and the one way they are printed.

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
import heapq
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

EXIT_FAILED = 1  # drift or a failed check
EXIT_USAGE = 2

# What others call a data type: numpy, PyTorch, Composable Kernel and the usual abbreviations.
_OTHER_WORDS = {
    **dict.fromkeys(("fp16", "float16", "half", "half_t"), "f16"),
    **dict.fromkeys(("bfloat16", "bhalf", "bhalf_t"), "bf16"),
    **dict.fromkeys(("fp32", "float32", "float"), "f32"),
}

MAX_SHOWN = 50  # diagnostics of one run: who has more, has made one mistake many times
MAX_TEXT = 1000  # characters of a message, a help or a note: a word of megabytes is no help
# What the search for the nearest name looks at.
_LONGEST_NAME, _MOST_NAMES, _MOST_CHARACTERS = 200, 5_000, 5_000
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

    `notes` are further sentences, such as where the other axis values of a broken instance come from. `find_help` is
    asked for the help only if the diagnostic is shown: to look for the nearest right word takes a thousand times as
    long as to see that a word is wrong. All texts are bounded and printable.
    """

    place: Place | None
    rule: str
    message: str
    help: str = ""
    severity: str = "error"
    notes: tuple[str, ...] = ()
    find_help: Callable[[], str] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("message", "help"):
            object.__setattr__(self, name, presentable(getattr(self, name)))
        object.__setattr__(self, "notes", tuple(presentable(note) for note in self.notes))


class CkgenError(Exception):
    """A run that cannot go on: its diagnostics, each once, at most the first MAX_SHOWN and how many more there are, and
    the exit code.

    Exit codes: 1 drift or a failed check, 2 wrong use or a wrong spec. The text, which a traceback shows, is what the
    command line prints without excerpts and notes.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], exit_code: int = EXIT_USAGE) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(
            _with_help(shown) for shown in _first(list(dict.fromkeys(diagnostics)))
        )
        self.exit_code = exit_code
        super().__init__("\n".join(_headline(d) + (f"\n = help: {d.help}" if d.help else "") for d in self.diagnostics))

    @property
    def sentence(self) -> str:
        """The first error and what to do about it, in one line."""
        first = self.diagnostics[0]
        place = f"{first.place}: " if first.place else ""
        return "; ".join(part for part in (f"{place}{first.message}", first.help) if part)


def presentable(text: str) -> str:
    """A text as messages show it: at most MAX_TEXT characters, cut in the middle, without any that a terminal obeys
    instead of showing it."""
    text = _cut_in_the_middle(text)
    if text.isprintable():
        return text
    return _cut_in_the_middle("".join(char if char.isprintable() else ascii(char)[1:-1] for char in text))


def _cut_in_the_middle(text: str) -> str:
    head, tail = MAX_TEXT * 3 // 4, MAX_TEXT // 4 - 5
    return text if len(text) <= MAX_TEXT else f"{text[:head]} ... {text[-tail:]}"


def _first(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """At most MAX_SHOWN of the diagnostics, the first in reading order, and one that counts the others."""
    if len(diagnostics) <= MAX_SHOWN:
        return diagnostics
    more = f"{len(diagnostics) - MAX_SHOWN} more errors are not shown"
    return [*sort_diagnostics(diagnostics)[:MAX_SHOWN], Diagnostic(None, "too-many-errors", more)]


def _with_help(diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.find_help is None:
        return diagnostic
    return replace(diagnostic, help=diagnostic.find_help() or diagnostic.help, find_help=None)


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


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known names most like `name` (case does not matter), best first; empty when none is close.

    Another word for a known name is that name alone, however unlike it is spelled. To compare two names takes a time
    that grows with both, so of very many known ones those of a similar length are compared that share most triples of
    characters.
    """
    if len(name) > _LONGEST_NAME:
        return []
    known = list(known)
    if len(known) > _MOST_NAMES:
        known = sorted(sorted(known), key=len)
        first = max(0, bisect_left(known, len(name), key=len) - _MOST_NAMES // 2)
        known = known[first : first + _MOST_NAMES]
    other_word = _OTHER_WORDS.get(name.casefold())
    if other_word is not None and other_word in known:
        return [other_word]
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    word, candidates = name.casefold(), list(folded)
    compared = max(1, _MOST_CHARACTERS // max(1, len(word)))
    if len(candidates) > compared:
        parts = _triples(word)
        candidates = heapq.nlargest(compared, candidates, key=lambda other: len(parts & _triples(other)))
    return [folded[match] for match in difflib.get_close_matches(word, candidates, n=count, cutoff=0.6)]


def _triples(word: str) -> set[str]:
    return {word[at : at + 3] for at in range(len(word))}


def one_of(names: Iterable[str]) -> str:
    """`a`, `b` or `c`: a list of alternatives as it reads in a sentence."""
    quoted = [f"`{name}`" for name in names]
    if len(quoted) <= 1:
        return "".join(quoted)
    return ", ".join(quoted[:-1]) + " or " + quoted[-1]


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Help for an unknown name: the nearest known ones, else all of them when they are few."""
    close = nearest(name, known)
    if close:
        return f"did you mean {one_of(close[:2])}?"
    if known and len(known) <= 16:
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
    """The part of a line that holds the place; what does not print becomes one blank, so the caret stays under its
    text."""
    column = place.column
    length = max(1, min(place.length, len(line) - column + 1))
    start = max(0, min(column - 1 - _EXCERPT_WIDTH // 3, len(line) - _EXCERPT_WIDTH))
    text = "".join(char if char.isprintable() else " " for char in line[start : start + _EXCERPT_WIDTH])
    if len(line) <= _EXCERPT_WIDTH:
        return text, column, length
    if start:
        text = "..." + text[3:]
    if start + _EXCERPT_WIDTH < len(line):
        text = text[:-3] + "..."
    return text, column - start, max(1, min(length, _EXCERPT_WIDTH - (column - start) + 1))
