"""Files that commands write besides the generated tree."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic


def write_new(path: Path, text: str, *, replace: bool) -> bool:
    """Write a file atomically; its mode remains, and links to it. A pipe or a device is written as it is. Returns False
    if a file exists and must not be replaced. Raises CkgenError (exit 2) if the system refuses."""
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return True
        return _written(path.resolve(), text, replace)
    except BrokenPipeError:
        raise
    except (OSError, RuntimeError) as error:  # the latter for a loop of links
        message = f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        help_text = "free some space" if full else "name a file in a folder that exists and that you may write"
        raise CkgenError([Diagnostic(None, "file", message, help_text)]) from error


def _written(path: Path, text: str, replace: bool) -> bool:
    part = path.with_name(f".ckgen-{os.getpid()}")  # short: the name of `path` may be as long as the system takes
    try:
        part.write_text(text, encoding="utf-8")
        if path.exists():
            part.chmod(stat.S_IMODE(path.stat().st_mode))
        if replace:
            part.replace(path)
        else:
            os.link(part, path)
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            part.unlink()
    return True
