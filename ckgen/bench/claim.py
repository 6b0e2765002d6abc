"""One writer at a time: two benches of one store would measure the same jobs, each beside the other's noise."""

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
    """Hold a store for writing; the kernel frees it if we die. CkgenError when another process holds it.

    The lock is a file beside the store: SQLite has locks on the store itself, which closing it here would undo.
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
            # Whoever held it may have removed the file between our opening and locking it.
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
