"""Works for tests of pools. Workers import this module."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic

STUCK = -1  # the request whose first run never ends
FATAL = -2  # the request that always ends its worker
WRONG = -3  # the request that raises


@dataclass(frozen=True, slots=True)
class Squares:
    """Squares numbers and notes each run, with its process, in the file `log` of a folder. The first run of STUCK
    tells its process to the FIFO `told` and then hangs."""

    folder: Path
    allowed: bool = True
    alone: bool = True

    def check(self) -> None:
        if not self.allowed:
            raise CkgenError([Diagnostic(None, "cluster", "this worker is not wanted")])

    def open(self) -> SquaresSession:
        return SquaresSession(self.folder)


class SquaresSession:
    """An open Squares."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, request: int) -> int:
        with (self._folder / "log").open("a") as log:
            log.write(f"{os.getpid()} {request}\n")
        if request == STUCK and not (self._folder / "once").exists():
            (self._folder / "once").touch()
            (self._folder / "told").write_text(str(os.getpid()))
            while True:
                os.read(os.open(self._folder / "never", os.O_RDONLY), 1)
        if request == FATAL:
            os._exit(3)
        if request == WRONG:
            raise CkgenError([Diagnostic(None, "planted", "no number", "take another")])
        return request * request

    def close(self) -> None:
        (self._folder / f"closed-{os.getpid()}").touch()


def runs_of(folder: Path) -> list[tuple[int, int]]:
    """Process and request of each run."""
    lines = (folder / "log").read_text().splitlines()
    return [(int(pid), int(request)) for pid, request in (line.split() for line in lines)]
