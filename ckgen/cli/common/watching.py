"""Repeat a command whenever a file changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from ckgen.cli.common import console
from ckgen.errors import CkgenError

PAUSE = 0.3  # seconds between two looks at the file
Stamp = tuple[int, int, int] | None


def watch(path: Path, act: Callable[[], int], pause: Callable[[], None] = lambda: time.sleep(PAUSE)) -> int:
    """Call `act` now and after each change of the file, until Ctrl-C. Prints errors of the spec and goes on."""
    stamp = object()
    for found in _stamps(path, pause):
        if found == stamp:
            continue
        stamp = found
        try:
            act()
        except CkgenError as error:
            console.show_diagnostics(error.diagnostics)
        console.note(f"waiting for changes of {path}; Ctrl-C ends")
    return 0


def _stamps(path: Path, pause: Callable[[], None]) -> Iterator[Stamp]:
    """The state of the file, again and again; None while it does not exist, as while an editor replaces it."""
    while True:
        found: Stamp = None
        with suppress(OSError):
            status = path.stat()
            found = status.st_mtime_ns, status.st_size, status.st_ino
        yield found
        try:
            pause()
        except KeyboardInterrupt:
            return
