"""Ctrl-C that is not lost: Python drops a KeyboardInterrupt that it raises inside a ``__del__`` or a callback."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def kept_interrupts() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if SIGINT has come since the start of the block.

    SIGINT also raises it at once, as without the block. Outside the main thread, or where the program handles SIGINT
    itself, nothing changes and the function does nothing.
    """
    came = threading.Event()
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not own or threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return

    def note(number: int, frame: Any) -> None:
        came.set()
        signal.default_int_handler(number, frame)

    def check() -> None:
        if came.is_set():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
