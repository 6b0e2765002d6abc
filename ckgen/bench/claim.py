"""Allow one writer per store: two concurrent benches would measure the same jobs and disturb each other's timings."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ckgen.errors import CkgenError, Diagnostic

_PROCESS_DIGITS = 20


@contextmanager
def claimed(store: Path) -> Iterator[None]:
    """Hold a store for writing; the operating system releases it if the process dies. Raise CkgenError when another
    process holds it.

    The lock is a separate file next to the store: SQLite itself locks the store file, and closing the file here would
    drop SQLite's locks.
    """
    name = store.with_name(f".{store.name}.lock")
    descriptor = _take(name, store)
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        with suppress(FileNotFoundError):
            name.unlink()
        os.close(descriptor)


def _take(name: Path, store: Path) -> int:
    while True:
        descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The previous holder may have removed the file after we opened it and before we locked it.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(name)):
                    return descriptor
        except BlockingIOError:
            holder = os.pread(descriptor, _PROCESS_DIGITS, 0).decode(errors="replace")
            os.close(descriptor)
            message = f"process {holder or 'of another bench'} is measuring into {store}"
            help_text = (
                "wait until it has ended: the rows it has measured are not measured again; or name another --store"
            )
            raise CkgenError((Diagnostic(None, "results", message, help_text),)) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
