"""Signals that end a run: they raise an exception, as Ctrl-C does, so that temporary files are removed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

NAMES = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_GRACE_S = 1.0


class Ended(BaseException):
    """Raised when a signal ends the run. Not an Exception, so that no handler of errors catches it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number
        self.message = NAMES[signal.Signals(number)]


@contextmanager
def ending_in_libraries() -> Iterator[None]:
    """End the process on Ctrl-C and on the signals of NAMES even while a function of a library runs, for which Python's
    handlers wait: they have _GRACE_S. For blocks that leave nothing behind when they are cut off."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    left = threading.Event()

    def watch() -> None:
        while number := os.read(reader, 1):
            if number[0] in (signal.SIGINT, *NAMES) and not left.wait(_GRACE_S):
                os.write(2, f"ckgen: {NAMES.get(signal.Signals(number[0]), 'interrupted')}\n".encode())
                os._exit(128 + number[0])
        os.close(reader)

    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        os.close(writer)


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
