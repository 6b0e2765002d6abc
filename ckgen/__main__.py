"""The ckgen command, as `python -m ckgen` and as the console script. It imports little before Ctrl-C is handled."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130


def main() -> int:
    """Run the command; Ctrl-C ends it in one line from the start, while its modules are imported too."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not ignored, as of background jobs
    if handled:
        signal.signal(signal.SIGINT, _end)
    from ckgen.cli import main as run

    try:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:  # before `run` handles it
        _end(signal.SIGINT, None)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """Leave at once: nothing has begun. An exception would become another one in modules that catch it on import."""
    try:
        os.write(2, b"ckgen: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
