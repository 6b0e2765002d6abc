"""One line on a terminal that says what is built in the background."""

from __future__ import annotations

import sys


class Progress:
    """The line; nothing is shown if it is ``quiet`` or standard error is not a terminal."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet, self._width = quiet, 0

    def show(self, arch: str, count: int, of: int, step: str) -> None:
        """Show that ``count`` instances, of those that are still missing, are being built."""
        self.say(f"ckgen: building {count} of {of} instances for {arch}, step {step}")

    def say(self, text: str) -> None:
        """Show a text."""
        if self._quiet or sys.stderr is None or not sys.stderr.isatty():
            return
        self._write(f"\r{text:{self._width}}")
        self._width = len(text)

    def end(self, built: int) -> None:
        """Replace the line by the number of instances that there are now; remove it if that is 0."""
        if self._width:
            done = f"ckgen: {built} instances are ready\n" if built else ""
            self._write(f"\r{'':{self._width}}\r{done}")
            self._width = 0

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
