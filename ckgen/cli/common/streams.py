"""Standard streams that are closed or full: what is said there is lost, and that is no reason to fail or to crash."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO


def open_missing() -> None:
    """Give standard streams that were closed (`>&-`) to /dev/null, before a file gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115  (open until the end)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115


def settle(stream: TextIO) -> None:
    """Write what is left to a stream. Nothing may be left for Python's own last flush, which would change the exit
    code where nobody reads any more or the disk is full."""
    try:
        stream.flush()
    except OSError:
        _silence(stream)


def _silence(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def tell(say: Callable[[], None]) -> None:
    """Say something on standard error, or nothing where that is full: the exit code says the rest."""
    try:
        say()
    except OSError:
        _silence(sys.stderr)
