"""Reading of whole files up to a size limit: a user may name a device or a pipe, which need not end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic, Place

_CHUNK = 1 << 20


class Unreadable(Exception):
    """The reason why a file cannot be read, as the end of a sentence that begins with the file's name."""


class TooLarge(Unreadable):
    """The file is larger than the limit."""


def read_text(path: Path, limit: int, *, absent: str = "") -> str:
    """Read a user's UTF-8 file of at most ``limit`` bytes. Raises CkgenError (exit 2), with the help ``absent`` if
    there is no file."""
    try:
        data = read_bounded(path, limit)
        return data.decode("utf-8-sig")
    except OSError as error:
        help_text = absent if isinstance(error, FileNotFoundError) else ""
        raise _refused(f"cannot read {path}: {error.strerror or error}", help_text) from error
    except Unreadable as error:
        help_text = "a file of that size is a mistake" if isinstance(error, TooLarge) else ""
        raise _refused(f"cannot read {path}: it {error}", help_text) from error
    except UnicodeDecodeError as error:
        head = data[: error.start].decode("utf-8", "replace")
        place = Place(str(path), head.count("\n") + 1, len(head) - (head.rfind("\n") + 1) + 1)
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise CkgenError([Diagnostic(place, "encoding", message, "save the file as UTF-8")]) from error


def read_bounded(path: Path, limit: int) -> bytes:
    """Read a file, a pipe or a device of at most ``limit`` bytes.

    Raises TooLarge above the limit, Unreadable for a folder or a socket, and FileNotFoundError or another OSError as
    the system reports it. Waits for the writer of a pipe, as every program does.
    """
    descriptor = _open(path)
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise Unreadable("is a folder")
        chunks: list[bytes] = []
        left = limit + 1
        while left and (chunk := os.read(descriptor, min(left, _CHUNK))):
            chunks.append(chunk)
            left -= len(chunk)
        if not left:
            raise TooLarge(f"has more than {limit} bytes")
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        if path.is_socket():
            raise Unreadable("is a socket") from None
        raise
    except ValueError as error:  # a null byte in the name
        raise Unreadable("is not a file name") from error


def _refused(message: str, help: str) -> CkgenError:
    return CkgenError([Diagnostic(None, "file", message, help)])
