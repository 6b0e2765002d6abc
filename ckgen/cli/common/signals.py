"""Signals that end a run: they raise an exception, as Ctrl-C does, so that temporary files are removed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


class Ended(BaseException):
    """Raised when a signal ends the run. Not an Exception, so that no handler of errors catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number
        self.message = NAMES[signal.Signals(number)]


@contextmanager
def unwinding() -> Iterator[None]:
    """Raise Ended inside the block on the first signal of NAMES; further signals do not interrupt the cleanup.

    Python drops an exception that a signal handler raises inside a finalizer, such as the close of a generator that
    `any` left early; Ended is then raised at the end of the block. Signals that the caller ignores (nohup) or handles
    in C are left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in NAMES}
    taken = [number for number, handler in before.items() if handler not in (None, signal.SIG_IGN)]

    arrived: list[Ended] = []

    def end(number: int, frame: FrameType | None) -> None:
        for other in taken:
            signal.signal(other, signal.SIG_IGN)
        arrived.append(Ended(number))
        raise arrived[0]

    for number in taken:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])
    if arrived:
        raise arrived[0]
