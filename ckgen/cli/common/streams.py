"""Handling of standard streams that are closed or full: their output is lost, but the command does not fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO


def open_missing() -> None:
    """Open /dev/null for standard streams that are closed (`>&-`), before another file gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is `number`
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115  (open until the end)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115


def settle(stream: TextIO) -> None:
    """Flush a stream, and drop its output if that fails. Otherwise Python's flush at exit would fail and change the
    exit code when the reader is gone or the disk is full."""
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
    """Call `say`, which prints to standard error. If that fails, the message is lost; the exit code remains."""
    try:
        say()
    except OSError:
        _silence(sys.stderr)
