"""Digest of a library's file, by which other processes and machines know it."""

from __future__ import annotations

import hashlib
import platform
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic

_CHUNK = 1 << 20


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    made = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            made.update(chunk)
    return made.hexdigest()


def check_library(library: Path, digest: str) -> None:
    """Raise CkgenError if a library is not on this machine or has another digest."""
    if not library.is_file():
        message = f"{library} is not on {platform.node()}"
    elif file_digest(library) != digest:
        message = f"{library} on {platform.node()} is another library"
    else:
        return
    raise CkgenError([Diagnostic(None, "cluster", message, "all workers need the same file at the same path")])
