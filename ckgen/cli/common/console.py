"""Output of commands: tables, notes, progress and diagnostics, coloured only on a terminal.

Results go to standard output; notes, progress and errors go to standard error, so that a pipe receives only results.
rich is imported only for a terminal.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckgen.cli.common import streams
from ckgen.errors import presentable

if TYPE_CHECKING:
    from ckgen.errors import Diagnostic

_MOST_SHOWN = 64 * 1024 * 1024  # bytes of a file, read for one line to show: compilers report errors in large files
VERBOSITY = "ckgen.verbosity"  # the key of click's context
_GAP = 2  # blanks between columns
_NARROWEST = 24  # columns of a name, below which a table is wider than the terminal rather than its names cut
_STYLES = {
    "PASS": "green",
    "FAIL": "red",
    "ok": "green",
    "added": "green",
    "removed": "red",
    "changed": "yellow",
}


def say(text: str = "") -> None:
    """Print one line (or block) of the result."""
    click.echo(text)


def note(text: str) -> None:
    """Print one line for a person to standard error: what was done. --quiet leaves it out."""
    if verbosity() >= 0:
        warn(text)


def warn(text: str) -> None:
    """Print one line for a person to standard error: what went wrong, with --quiet too."""
    streams.tell(lambda: click.echo(f"ckgen: {presentable(text)}", err=True))


def verbosity() -> int:
    """-1 for --quiet, 1 for --verbose, else 0."""
    context = click.get_current_context(silent=True)
    number: int = context.meta.get(VERBOSITY, 0) if context is not None else 0
    return number


def say_json(value: Any) -> None:
    """Print the result for a script."""
    click.echo(json.dumps(value, indent=2))


def show_table(headers: Sequence[str], rows: Sequence[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print a table, as plain text unless on a terminal; columns named in `right` are right-aligned."""
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(headers, cells, right)
        return
    widths = [max(len(line[i]) for line in [list(headers), *cells]) for i in range(len(headers))]
    for line in [list(headers), *cells]:
        padded = [
            text.rjust(width) if header in right else text.ljust(width)
            for text, width, header in zip(line, widths, headers, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def is_terminal() -> bool:
    """True if the result goes to a terminal."""
    return sys.stdout.isatty()


def show_fitting(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, keep: Sequence[str], right: Sequence[str] = ()
) -> None:
    """Print a table with as many columns as the terminal has room for: those of `keep` first, in its order."""
    from rich.console import Console

    widths, order = _widths(headers, rows), [*keep, *(name for name in headers if name not in keep)]
    left_over, kept = Console().width, set[str]()
    for name in order:
        left_over -= widths[headers.index(name)] + _GAP
        if left_over + _GAP < 0 and kept:
            break
        kept.add(name)
    shown = [index for index, name in enumerate(headers) if name in kept]
    show_table([headers[i] for i in shown], [[row[i] for i in shown] for row in rows], right=right)


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(line[index]) for line in (headers, *rows)) for index in range(len(headers))]


def _rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = Console()
    widths = _narrowed(_widths(headers, rows), terminal.width)
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, _GAP, 0, 0))
    for header, width in zip(headers, widths, strict=True):
        table.add_column(header, justify="right" if header in right else "left", overflow="fold", width=width)
    for row in rows:
        cells = [shortened(cell, width) for cell, width in zip(row, widths, strict=True)]
        table.add_row(*(Text(cell, style=_STYLES.get(cell.partition(":")[0], "")) for cell in cells))
    terminal.print(table)


def _narrowed(widths: Sequence[int], room: int) -> list[int]:
    """The widths of columns that fit a terminal: the widest become narrower, though not below _NARROWEST."""
    fitting = list(widths)
    while sum(fitting) + _GAP * (len(fitting) - 1) > room and max(fitting) > _NARROWEST:
        fitting[fitting.index(max(fitting))] -= 1
    return fitting


def shortened(cell: str, width: int) -> str:
    """A text of at most `width` characters. Of an instance's name, the id that stands for it and its last part remain;
    sentences are left to fold."""
    if len(cell) <= width or " " in cell:
        return cell
    if not cell.startswith("grouped_conv"):
        return f"{cell[: width // 2 - 1]}\N{HORIZONTAL ELLIPSIS}{cell[-(width - width // 2) :]}"
    from ckgen.instance.instance import short_id

    known = short_id(cell) + " \N{HORIZONTAL ELLIPSIS}"
    return known + cell[-(width - len(known)) :]


def show_diff(text: str) -> None:
    """Print a unified diff, coloured on a terminal."""
    for line in text.splitlines():
        color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.echo(click.style(line, fg=color) if color else line)


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each finished item. On a terminal it moves a bar."""
    if verbosity() > 0:
        yield lambda name: warn(f"{what} {name}")
        return
    if verbosity() < 0 or not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    terminal = Console(stderr=True)
    with Progress(*columns, console=terminal, transient=True) as bar:
        task, room = bar.add_task(what, total=total), max(len(what), min(72, terminal.width - 70))
        yield lambda name: bar.update(task, advance=1, description=f"{what} {name}"[:room])


@contextlib.contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with each line of a tool's output. A terminal shows the latest one, --verbose prints
    all; elsewhere one line says what has begun."""
    if verbosity() > 0:
        note(what)
        yield lambda line: streams.tell(lambda: click.echo(line, err=True))
        return
    if verbosity() < 0 or not sys.stderr.isatty():
        note(what)
        yield lambda line: None
        return
    from rich.console import Console
    from rich.markup import escape

    terminal = Console(stderr=True)
    room = max(20, terminal.width - 6)  # the spinner, and no wrapped line: it would stay on the screen
    with terminal.status(escape(what[:room])) as spinner:
        yield lambda line: spinner.update(escape(f"{what}: {line}"[:room]))


def show_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """Print errors to standard error, each with the current text of the line that it refers to."""
    from ckgen.errors import format_diagnostics

    files = {diagnostic.place.file for diagnostic in diagnostics if diagnostic.place is not None}
    text = format_diagnostics(diagnostics, {file: _read(file) for file in files})
    text = re.sub(r"\berror(?=[\[:])", lambda match: click.style(match[0], fg="red", bold=True), text)
    text = re.sub(r"(?<== )help:", lambda match: click.style(match[0], fg="cyan"), text)
    streams.tell(lambda: click.echo(text.rstrip("\n"), err=True))


def _read(file: str) -> str:
    """Read a file that a message refers to; empty for a pipe, whose text was consumed before."""
    from ckgen.text.reading import Unreadable, read_bounded

    if not Path(file).is_file():
        return ""
    try:
        return read_bounded(Path(file), _MOST_SHOWN).decode("utf-8", errors="replace")
    except (OSError, Unreadable):
        return ""
