"""Files that commands write besides the generated tree."""

from __future__ import annotations

import os
from pathlib import Path


def write_new(path: Path, text: str, *, replace: bool) -> bool:
    """Write a file atomically. Returns False if it exists and must not be replaced."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_text(text, encoding="utf-8")
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    except FileExistsError:
        return False
    finally:
        part.unlink(missing_ok=True)
    return True
