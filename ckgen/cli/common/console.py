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
    """Print one line for a person to standard error: what was done or what went wrong."""
    streams.tell(lambda: click.echo(f"ckgen: {presentable(text)}", err=True))


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


def _rich_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell.partition(":")[0], "")) for cell in row))
    Console().print(table)


def show_diff(text: str) -> None:
    """Print a unified diff, coloured on a terminal."""
    for line in text.splitlines():
        color = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        click.echo(click.style(line, fg=color) if color else line)


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with the name of each finished item. On a terminal it moves a bar."""
    if not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda name: bar.update(task, advance=1, description=f"{what} {name}"[:72])


@contextlib.contextmanager
def status(what: str) -> Iterator[Callable[[str], None]]:
    """Yield a function to call with each line of a tool's output; a terminal shows the latest one."""
    if not sys.stderr.isatty():
        yield lambda line: None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(what) as spinner:
        yield lambda line: spinner.update(escape(f"{what}: {line}"[:110]))


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
