"""The error of everything that the emulator does not run."""

from __future__ import annotations


class Unsupported(Exception):
    """Pseudocode, an instruction or a code object that the emulator does not run."""
