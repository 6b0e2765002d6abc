"""Short stretches of work that a signal must not cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def signals_held() -> Iterator[None]:
    """What arrives meanwhile of Ctrl-C, SIGTERM and SIGHUP, takes effect at the end.

    The handlers are changed and not the thread's mask: the system would give the signal to another thread, and Python
    handle it here all the same. Python runs no handler in other threads than the main one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    held = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    for number in held:
        signal.signal(number, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in held.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(arrived):
            signal.raise_signal(late)
